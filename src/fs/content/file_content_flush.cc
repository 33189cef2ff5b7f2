// Dirty extents: how they come about, and how a flush brings them into the recipe.
#include <algorithm>

#include "base/guarded.h"
#include "fs/content/file_content_state.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kFeedBytes = 1 << 20;
// One extent is cut anew at a time. It ends at an old entry after so much, so that its new entries stay few in memory: one
// chunk that is shorter than it would be costs nothing beside it.
constexpr std::uint64_t kMaxExtentBytes = 32 << 20;
// Behind the last change new boundaries fall on old ones after a few chunks. Where content repeats itself they may never: after
// so many of the largest chunks an end is forced at an old entry. Without, each hole in such a file cuts all that follows anew.
constexpr std::uint64_t kResyncChunks = 8;
// What a hole counts as in these: an entry, and the one of the data between it and the next.
constexpr std::uint64_t kHoleCounts = 4096;
// Of one flush, in the chunk store. While the budget is exceeded it goes on when all has landed.
constexpr std::uint64_t kMaxInFlightBytes = 16 << 20;

}  // namespace

// Puts what could not be stored back, below what was written since.
void FileContentState::keep_dirty(const Lock& lock, const WriteStream::Part& part) {
  const std::uint64_t end = std::min(part.offset + part.length, size);
  for (std::uint64_t offset = part.offset; offset < end;) {
    const auto newer = dirty.find_from(offset);
    if (newer && newer->offset == offset) {
      offset = newer->end();
      continue;
    }
    const std::uint64_t gap = (newer ? std::min(newer->offset, end) : end) - offset;
    change_dirty(lock, [&](DirtyMap& map) {
      if (part.bytes.bytes.empty())
        map.punch(offset, gap);
      else
        map.write(offset, part.bytes.bytes.subspan(offset - part.offset, gap));
    });
    offset += gap;
  }
}

Result<void> FileContentState::flush_dirty(Lock& lock) {
  if (dirty.empty()) return {};
  if (size <= kInlineBytes) {
    DEDUPFS_TRY(flush_inline(lock));
  } else {
    while (const auto extent = dirty.find_from(0)) DEDUPFS_TRY(flush_extent(lock, extent->offset));
  }
  punched_bytes = 0;
  return {};
}

Result<void> FileContentState::flush_inline(Lock& lock) {
  DEDUPFS_ASSIGN(const auto pieces, fetch_range(lock, 0, size));
  RecipeEntry entry;
  for (const PinnedBytes& piece : pieces) entry.bytes += text_of(piece.bytes);
  entry.length = entry.bytes.size();
  entry.kind = RecipeEntry::Kind::kInline;
  std::vector<RecipeEntry> entries;
  if (!all_zero(bytes_of(entry.bytes))) entries.push_back(std::move(entry));
  DEDUPFS_TRY(replace(lock, 0, kEndOfRecipe, std::move(entries)));
  change_dirty(lock, [](DirtyMap& map) { map.clear(); });
  return {};
}

// Where cutting anew must start, so that boundaries become those of the content as a whole: at the entry that holds `offset`.
// An entry that ended only because the file did is cut anew, too, when something follows it.
Result<std::uint64_t> FileContentState::restart_point(Lock& lock, std::uint64_t offset) {
  DEDUPFS_ASSIGN(const std::uint64_t end, recipe.end());
  if (end == 0) return 0;
  DEDUPFS_ASSIGN(auto entry, recipe.find(std::min(offset, end - 1)));
  // Zeros at the end may be the start of a long run, which began in an entry before.
  while (entry && offset >= end && entry->offset != 0) {
    DEDUPFS_ASSIGN(const bool zeros, entry_is_zeros(lock, *entry));
    if (!zeros) break;
    DEDUPFS_ASSIGN(entry, recipe.find(entry->offset - 1));
  }
  return entry ? entry->offset : end;
}

Result<bool> FileContentState::entry_is_zeros(Lock& lock, const PlacedEntry& entry) {
  if (entry.entry.kind != RecipeEntry::Kind::kChunk || entry.entry.length >= kHoleRunBytes) return false;
  const Unlocked unlocked(lock);
  DEDUPFS_ASSIGN(const PinnedBytes chunk, volume.chunks().get(entry.entry.chunk));
  return all_zero(chunk.bytes);
}

Result<bool> FileContentState::is_boundary(const Lock&, std::uint64_t offset) {
  DEDUPFS_ASSIGN(const std::uint64_t end, recipe.end());
  if (offset >= end) return true;
  DEDUPFS_ASSIGN(const auto entry, recipe.find(offset));
  return entry && entry->offset == offset;
}

// The end of a long hole is fed as zeros, so that zeros behind it make it longer.
void FileContentState::feed_hole(WriteStream& into, std::uint64_t length) {
  if (length < kHoleRunBytes) return into.feed_hole(length);
  if (length > kHoleRunBytes) into.feed_hole(length - kHoleRunBytes);
  into.feed(ByteSpan(kZeros).first(kHoleRunBytes));
}

// Cuts the dirty extent at some offset, and those that it runs into, anew. What is in batch is bounded, and so is what one
// extent takes in memory, however many changes follow one another.
class FileContentState::Recutting {
 public:
  Recutting(FileContentState& state, Lock& lock, std::uint64_t start, std::uint64_t first_dirty,
            std::uint64_t content_end)
      : state_(state),
        lock_(lock),
        start_(start),
        first_dirty_(first_dirty),
        content_end_(content_end),
        stream_(state.volume, state.budget, start, content_end - start,
                [this](Result<std::vector<ChunkId>> ids) { land(std::move(ids)); }) {}
  ~Recutting() { await_stored(); }
  Recutting(const Recutting&) = delete;
  Recutting& operator=(const Recutting&) = delete;

  Result<void> run() {
    DEDUPFS_ASSIGN(const std::uint64_t stop, cut());
    stream_.put();
    await_stored();
    if (error_) return *error_;
    return apply(stop);
  }

 private:
  void land(Result<std::vector<ChunkId>> ids) noexcept;
  void await_stored() {
    state_.changed.wait(lock_, [this] { return !stream_.in_flight(); });
  }
  bool may_feed() const { return stream_.in_flight_bytes() < (state_.budget.is_exceeded() ? 1 : kMaxInFlightBytes); }

  Result<std::uint64_t> cut();
  Result<std::uint64_t> feed(std::uint64_t from, std::uint64_t to);
  Result<bool> must_end(std::uint64_t position) const;
  Result<std::optional<std::uint64_t>> agreed_end();
  Result<void> apply(std::uint64_t stop);

  FileContentState& state_;
  Lock& lock_;
  const std::uint64_t start_;
  const std::uint64_t first_dirty_;
  const std::uint64_t content_end_;
  std::uint64_t dirty_end_ = 0;  // no boundary before it counts: the extent must get done
  std::uint64_t fed_ = 0;
  std::uint64_t fed_when_clean_ = 0;  // when the last dirty byte so far was fed
  WriteStream stream_;
  std::vector<RecipeEntry> entries_;
  std::optional<Error> error_;
};

void FileContentState::Recutting::land(Result<std::vector<ChunkId>> ids) noexcept {
  const Lock inner(state_.mutex);
  Result<void> stored = guarded([&]() -> Result<void> {
    if (!ids) return ids.error();
    std::ranges::move(stream_.stored_entries(*ids), std::back_inserter(entries_));
    return {};
  });
  if (!stored && !error_) error_.emplace(std::move(stored).error());
  stream_.pop_stored();  // if it failed, the bytes are in the dirty extents and in the recipe still
  state_.changed.notify_all();
}

// Feeds and cuts until boundaries agree with the old ones, or must; returns the end.
Result<std::uint64_t> FileContentState::Recutting::cut() {
  dirty_end_ = state_.dirty.find_from(first_dirty_)->end();
  for (std::uint64_t position = start_;;) {
    state_.changed.wait(lock_, [this] { return error_ || may_feed(); });
    if (error_) return *error_;
    DEDUPFS_ASSIGN(const bool ends, must_end(position));
    if (ends) {
      stream_.cut(true);
      return position;
    }
    // One old entry at a time, once the dirty bytes are behind, and up to the next ones.
    std::uint64_t to = content_end_;
    if (position >= dirty_end_ || fed_ >= kMaxExtentBytes) {
      DEDUPFS_ASSIGN(const auto entry, state_.recipe.find(position));
      if (entry) to = std::min(to, entry->end());
    }
    if (position >= dirty_end_) {
      if (const auto next = state_.dirty.find_from(position); next && next->offset < to) dirty_end_ = next->end();
    }
    if (position < dirty_end_) to = std::min(to, dirty_end_);
    const bool was_dirty = position < dirty_end_;
    DEDUPFS_ASSIGN(position, feed(position, to));
    if (was_dirty) fed_when_clean_ = fed_;
    if (position < dirty_end_) continue;
    DEDUPFS_ASSIGN(const auto agreed, agreed_end());
    if (agreed) return *agreed;
  }
}

Result<bool> FileContentState::Recutting::must_end(std::uint64_t position) const {
  if (position >= content_end_) return true;
  const std::uint64_t resync_bytes = kResyncChunks * state_.volume.chunker().sizes().max_bytes;
  const bool long_enough = position > first_dirty_ && fed_ >= kMaxExtentBytes;
  const bool never_agrees = position >= dirty_end_ && fed_ - fed_when_clean_ >= resync_bytes;
  if (!long_enough && !never_agrees) return false;
  DEDUPFS_ASSIGN(const auto entry, state_.recipe.find(position));
  return !entry || entry->offset == position || !entry->entry.is_data();  // a hole can be divided anywhere
}

// The first new boundary behind the dirty bytes that is an old one, too. What is behind it is not wanted.
Result<std::optional<std::uint64_t>> FileContentState::Recutting::agreed_end() {
  stream_.cut(false);
  for (const std::uint64_t end : stream_.cut_ends(dirty_end_)) {
    DEDUPFS_ASSIGN(const bool old_boundary, state_.is_boundary(lock_, end));
    if (!old_boundary) continue;
    stream_.drop_from(end);
    return std::optional(end);
  }
  return std::optional<std::uint64_t>();
}

// Feeds content from `from` on, at most to `to`, and returns how far it came: a hole is fed whole, bytes in portions.
Result<std::uint64_t> FileContentState::Recutting::feed(std::uint64_t from, std::uint64_t to) {
  DEDUPFS_ASSIGN(const View view, state_.view_at(lock_, from));
  const std::uint64_t length = std::min(view.length, to - from);
  if (view.is_hole() && length >= kMinHole) {
    state_.feed_hole(stream_, length);
    fed_ += kHoleCounts;
    return from + length;
  }
  const std::uint64_t portion = std::min(length, kFeedBytes);
  DEDUPFS_ASSIGN(const auto pieces, state_.fetch_range(lock_, from, from + portion));
  for (const PinnedBytes& piece : pieces) stream_.feed(piece.bytes);
  fed_ += portion;
  return from + portion;
}

Result<void> FileContentState::Recutting::apply(std::uint64_t stop) {
  DEDUPFS_ASSIGN(const std::uint64_t old_end, state_.recipe.end());
  std::uint64_t to = stop >= old_end ? kEndOfRecipe : stop;
  DEDUPFS_ASSIGN(const auto entry, state_.recipe.find(stop));
  if (entry && entry->offset != stop) {  // a hole was divided
    to = entry->end();
    entries_.push_back({RecipeEntry::Kind::kHole, to - stop, {}, {}});
  }
  DEDUPFS_TRY(state_.replace(lock_, start_, to, std::move(entries_)));
  state_.change_dirty(lock_, [&](DirtyMap& map) { map.erase(start_, stop - start_); });
  return {};
}

Result<void> FileContentState::flush_extent(Lock& lock, std::uint64_t offset) {
  DEDUPFS_ASSIGN(const std::uint64_t start, restart_point(lock, offset));
  DEDUPFS_ASSIGN(const std::uint64_t recipe_end, recipe.end());
  Recutting recutting(*this, lock, start, offset, std::min(size, std::max(recipe_end, dirty.end())));
  return recutting.run();
}

// How much of the range the recipe has, and nothing has changed since.
Result<std::uint64_t> FileContentState::data_bytes_in(const Lock& lock, std::uint64_t from, std::uint64_t to) {
  std::uint64_t bytes = 0;
  while (from < to) {
    DEDUPFS_ASSIGN(const View view, view_at(lock, from));
    const std::uint64_t length = std::min(view.length, to - from);
    if (view.source == View::Source::kRecipe) bytes += length;
    from += length;
  }
  return bytes;
}

}  // namespace dedupfs
