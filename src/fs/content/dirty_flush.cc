#include "fs/content/dirty_flush.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "fs/content/restart_point.h"
#include "fs/content/write_stream.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kFeedBytes = 1 << 20;
// Cuts one extent again at a time, and ends it at an old entry after this many bytes. So few new entries are in memory. The
// forced end makes one chunk shorter, which costs next to nothing in comparison.
constexpr std::uint64_t kMaxExtentBytes = 32 << 20;
// Behind the last change, new boundaries fall on old ones after a few chunks. In repetitive content this may never happen. So
// after this many chunks of the largest size, the extent is forced to end at an old entry. Without this limit, each hole in a
// repetitive file would cut all content behind it again.
constexpr std::uint64_t kResyncChunks = 8;
// A hole counts as this many bytes: it makes an entry of its own, and another one for the data up to the next hole.
constexpr std::uint64_t kHoleCounts = 4096;
// The bytes of one flush that are in the chunk store at a time. While the budget is exceeded, the flush continues only after
// all of them have been stored.
constexpr std::uint64_t kMaxInFlightBytes = 16 << 20;

}  // namespace

Result<void> DirtyFlush::run(Held& held) {
  if (parts_.dirty.map().empty()) return {};
  if (parts_.view.size() <= kInlineBytes) {
    DEDUPFS_TRY(flush_inline(held));
  } else {
    while (const auto extent = parts_.dirty.map().find_from(0)) DEDUPFS_TRY(flush_extent(held, extent->offset));
  }
  return {};
}

Result<void> DirtyFlush::flush_inline(Held& held) {
  DEDUPFS_ASSIGN(const auto pieces, parts_.view.read_and_lock(held, 0, parts_.view.size()));
  RecipeEntry entry;
  for (const PinnedBytes& piece : pieces) entry.bytes += text_of(piece.bytes);
  entry.length = entry.bytes.size();
  entry.kind = RecipeEntry::Kind::kInline;
  std::vector<RecipeEntry> entries;
  if (!all_zero(bytes_of(entry.bytes))) entries.push_back(std::move(entry));
  DEDUPFS_TRY(parts_.recipe.replace(0, kEndOfRecipe, std::move(entries)));
  parts_.dirty.clear();
  return {};
}

// Cuts again the dirty extent at some offset, and the dirty extents that this runs into. The in-flight batches are bounded. So
// is the memory for one extent, however many changes follow one another.
class DirtyFlush::Recutting {
 public:
  Recutting(const ContentParts& parts, Held& held, std::uint64_t start, std::uint64_t first_dirty,
            std::uint64_t content_end)
      : parts_(parts),
        held_(held),
        start_(start),
        first_dirty_(first_dirty),
        content_end_(content_end),
        stream_(
            parts.volume, parts.budget, start, content_end - start,
            [this](Result<std::vector<ChunkId>> ids) { land(std::move(ids)); },
            [this](std::uint64_t offset, std::uint64_t length) { return replaced_at(offset, length); }) {}
  ~Recutting() { await_stored(); }
  Recutting(const Recutting&) = delete;
  Recutting& operator=(const Recutting&) = delete;

  Result<void> run() {
    DEDUPFS_ASSIGN(const std::uint64_t stop, cut());
    // This thread would only wait for another one that does the work.
    if (const ChunkWriter::Work work = stream_.begin_put()) {
      held_.unlock();
      work();
      held_.lock();
    }
    await_stored();
    if (error_) return *error_;
    return apply(stop);
  }

 private:
  void land(Result<std::vector<ChunkId>> ids) noexcept;
  ReplacedChunk replaced_at(std::uint64_t offset, std::uint64_t length) const;
  void await_stored() {
    parts_.lock.wait(held_, [this] { return !stream_.in_flight(); });
  }
  bool may_feed() const { return stream_.in_flight_bytes() < (parts_.budget.is_exceeded() ? 1 : kMaxInFlightBytes); }

  Result<std::uint64_t> cut();
  Result<std::uint64_t> feed(std::uint64_t from, std::uint64_t to);
  Result<bool> must_end(std::uint64_t position) const;
  Result<std::optional<std::uint64_t>> agreed_end();
  Result<void> apply(std::uint64_t stop);

  const ContentParts& parts_;
  Held& held_;
  const std::uint64_t start_;
  const std::uint64_t first_dirty_;
  const std::uint64_t content_end_;
  std::uint64_t dirty_end_ = 0;  // no boundary before it counts: the extent must be finished
  std::uint64_t fed_ = 0;
  std::uint64_t fed_when_clean_ = 0;  // when the last dirty byte so far was fed
  WriteStream stream_;
  std::vector<RecipeEntry> entries_;
  std::optional<Error> error_;
};

void DirtyFlush::Recutting::land(Result<std::vector<ChunkId>> ids) noexcept {
  const Held inner = parts_.lock.hold();
  Result<void> stored = guarded([&]() -> Result<void> {
    if (!ids) return ids.error();
    std::ranges::move(stream_.stored_entries(*ids), std::back_inserter(entries_));
    return {};
  });
  if (!stored && !error_) error_.emplace(std::move(stored).error());
  stream_.pop_stored();  // if it failed, the dirty extents and the recipe still have the bytes
  parts_.lock.notify_all();
}

// The old chunk that had most of this range.
ReplacedChunk DirtyFlush::Recutting::replaced_at(std::uint64_t offset, std::uint64_t length) const {
  const auto entries = parts_.recipe.list(offset, offset + length);
  ReplacedChunk replaced;
  if (!entries) return replaced;  // it is a hint
  std::uint64_t most = 0;
  for (const PlacedEntry& entry : *entries) {
    const std::uint64_t common = std::min(entry.end(), offset + length) - std::max(entry.offset, offset);
    if (entry.entry.kind != RecipeEntry::Kind::kChunk || common <= most) continue;
    most = common;
    replaced = {entry.entry.chunk, offset > entry.offset ? static_cast<std::uint32_t>(offset - entry.offset) : 0};
  }
  return replaced;
}

// Feeds and cuts until a new boundary is an old one, too, or until an end is forced. Returns the end.
Result<std::uint64_t> DirtyFlush::Recutting::cut() {
  dirty_end_ = parts_.dirty.map().find_from(first_dirty_)->end();
  for (std::uint64_t position = start_;;) {
    parts_.lock.wait(held_, [this] { return error_ || may_feed(); });
    if (error_) return *error_;
    DEDUPFS_ASSIGN(const bool ends, must_end(position));
    if (ends) {
      stream_.cut(true);
      return position;
    }
    // Behind the dirty bytes it feeds one old entry at a time. Dirty bytes within that entry move dirty_end_ on.
    std::uint64_t to = content_end_;
    if (position >= dirty_end_ || fed_ >= kMaxExtentBytes) {
      DEDUPFS_ASSIGN(const auto entry, parts_.recipe.find(position));
      if (entry) to = std::min(to, entry->end());
    }
    if (position >= dirty_end_) {
      if (const auto next = parts_.dirty.map().find_from(position); next && next->offset < to) dirty_end_ = next->end();
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

Result<bool> DirtyFlush::Recutting::must_end(std::uint64_t position) const {
  if (position >= content_end_) return true;
  const std::uint64_t resync_bytes = kResyncChunks * parts_.volume.chunker().sizes().max_bytes;
  const bool long_enough = position > first_dirty_ && fed_ >= kMaxExtentBytes;
  const bool never_agrees = position >= dirty_end_ && fed_ - fed_when_clean_ >= resync_bytes;
  if (!long_enough && !never_agrees) return false;
  DEDUPFS_ASSIGN(const auto entry, parts_.recipe.find(position));
  return !entry || entry->offset == position || !entry->entry.is_data();  // a hole can be divided anywhere
}

// The first new boundary behind the dirty bytes that is an old one, too. The pieces behind it are dropped.
Result<std::optional<std::uint64_t>> DirtyFlush::Recutting::agreed_end() {
  stream_.cut(false);
  for (const std::uint64_t end : stream_.cut_ends(dirty_end_)) {
    DEDUPFS_ASSIGN(const bool old_boundary, parts_.recipe.is_boundary(end));
    if (!old_boundary) continue;
    stream_.drop_from(end);
    return std::optional(end);
  }
  return std::optional<std::uint64_t>();
}

// Feeds content from `from` on, at most to `to`, and returns how far it came. It feeds a hole as a whole, and bytes in
// portions.
Result<std::uint64_t> DirtyFlush::Recutting::feed(std::uint64_t from, std::uint64_t to) {
  DEDUPFS_ASSIGN(const ContentView::Span span, parts_.view.at(held_, from));
  const std::uint64_t length = std::min(span.length, to - from);
  if (span.is_hole() && length >= kMinHole) {
    feed_hole(stream_, length);
    fed_ += kHoleCounts;
    return from + length;
  }
  const std::uint64_t portion = std::min(length, kFeedBytes);
  DEDUPFS_ASSIGN(const auto pieces, parts_.view.read_and_lock(held_, from, from + portion));
  for (const PinnedBytes& piece : pieces) stream_.feed(piece.bytes);
  fed_ += portion;
  return from + portion;
}

Result<void> DirtyFlush::Recutting::apply(std::uint64_t stop) {
  DEDUPFS_ASSIGN(const std::uint64_t old_end, parts_.recipe.end());
  std::uint64_t to = stop >= old_end ? kEndOfRecipe : stop;
  DEDUPFS_ASSIGN(const auto entry, parts_.recipe.find(stop));
  if (entry && entry->offset != stop) {  // a hole was divided
    to = entry->end();
    entries_.push_back({RecipeEntry::Kind::kHole, to - stop, {}, {}});
  }
  DEDUPFS_TRY(parts_.recipe.replace(start_, to, std::move(entries_)));
  parts_.dirty.erase(start_, stop - start_);
  return {};
}

Result<void> DirtyFlush::flush_extent(Held& held, std::uint64_t offset) {
  DEDUPFS_ASSIGN(const std::uint64_t start, restart_point(held, parts_.recipe, parts_.view, offset));
  DEDUPFS_ASSIGN(const std::uint64_t recipe_end, parts_.recipe.end());
  Recutting recutting(parts_, held, start, offset,
                      std::min(parts_.view.size(), std::max(recipe_end, parts_.dirty.map().end())));
  return recutting.run();
}

}  // namespace dedupfs
