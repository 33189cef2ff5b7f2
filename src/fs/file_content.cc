#include "fs/file_content.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "fs/dirty_map.h"
#include "fs/recipe.h"
#include "fs/write_stream.h"

namespace dedupfs {
namespace {

// From here on sequential bytes at the end of a file run through a stream; below, they wait for more.
constexpr std::uint64_t kStreamBytes = 256 * 1024;
// What a file may keep in dirty stretches before it is flushed on the spot.
constexpr std::uint64_t kMostDirtyBytes = 16 << 20;
// Holes that were made on purpose stay holes from this size on; shorter ones would only chop chunks up.
constexpr std::uint64_t kSmallestHole = 4096;
constexpr std::uint64_t kFeedBytes = 1 << 20;
constexpr std::uint64_t kSeekBlockBytes = 4096;  // what lseek() finds begins and ends with a block of this size
constexpr std::uint64_t kEndOfRecipe = UINT64_MAX;

const std::array<std::uint8_t, 64 * 1024> kZeros{};

std::uint64_t block_start(std::uint64_t offset) {
  return offset - offset % kSeekBlockBytes;
}

PinnedBytes copy_of(ByteSpan bytes) {
  const auto copy = std::make_shared<ByteBuffer>(bytes.begin(), bytes.end());
  return {ByteSpan(*copy), copy};
}

}  // namespace

struct FileContent::State {
  State(Volume& v, DirtyBudget& b, InodeNumber number, std::uint64_t s, std::uint64_t data)
      : volume(v), budget(b), inode(number), recipe(v.metadata(), number, s), size(s), recipe_data_bytes(data) {}

  using Lock = std::unique_lock<std::mutex>;

  // One changing operation at a time; readers, and results of the chunk store, go on beside it. Whoever is inside may let go
  // of the lock: nobody else changes the recipe, but for results of its own stream, nor the dirty stretches.
  class Exclusive {
   public:
    explicit Exclusive(State& state) : state_(state), lock_(state.mutex) {
      state_.changed.wait(lock_, [this] { return !state_.busy; });
      state_.busy = true;
    }
    ~Exclusive() {
      if (!lock_.owns_lock()) lock_.lock();
      state_.busy = false;
      state_.changed.notify_all();
    }
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;
    Lock& lock() { return lock_; }

   private:
    State& state_;
    Lock lock_;
  };

  // What the content is at some offset, and how far it is that.
  struct View {
    enum class Source { kHole, kDirty, kStream, kRecipe } source = Source::kHole;
    std::uint64_t length = 0;
    DirtyMap::Extent dirty;
    WriteStream::Part stream;
    PlacedEntry entry;

    bool is_hole() const { return source == Source::kHole; }
  };
  // Bytes that are here, or the chunk that has them.
  struct Fetch {
    PinnedBytes bytes;
    std::optional<ChunkId> chunk;
    std::uint64_t skip = 0;  // of the chunk
    std::uint64_t length = 0;
    std::uint64_t offset = 0;
  };

  Result<View> view_at(const Lock& lock, std::uint64_t offset);
  Result<std::uint64_t> run_start(const Lock& lock, std::uint64_t from, bool of_hole);
  Result<std::vector<Fetch>> gather(const Lock& lock, std::uint64_t from, std::uint64_t to);
  Result<std::vector<PinnedBytes>> fetch(const std::vector<Fetch>& wanted) const;
  Result<std::vector<PinnedBytes>> read(std::uint64_t from, std::uint64_t to);

  // --- dirty stretches
  void change_dirty(const Lock& lock, std::uint64_t acquired, const std::function<void(DirtyMap&)>& change);
  void keep_dirty(const Lock& lock, const WriteStream::Part& part);
  Result<void> flush_dirty(Lock& lock);
  Result<void> flush_inline(Lock& lock);
  Result<void> flush_stretch(Lock& lock, std::uint64_t offset);
  Result<std::uint64_t> restart_point(Lock& lock, std::uint64_t offset);
  Result<bool> entry_is_zeros(Lock& lock, const PlacedEntry& entry);
  Result<std::uint64_t> feed(Lock& lock, WriteStream& into, std::uint64_t from, std::uint64_t to);
  void feed_hole(WriteStream& into, std::uint64_t length);
  Result<bool> is_boundary(const Lock& lock, std::uint64_t offset);

  // --- the stream at the end of the file
  std::optional<std::uint64_t> stream_start(const Lock& lock) const;
  Result<void> start_stream(Lock& lock, std::uint64_t from);
  void append_to_stream(const Lock& lock, std::uint64_t offset, ByteSpan bytes);
  void land(Result<std::vector<ChunkId>> ids);
  Result<void> end_stream(Lock& lock);

  Result<void> settle(Lock& lock) {
    DEDUPFS_TRY(end_stream(lock));
    return flush_dirty(lock);
  }
  Result<void> replace(const Lock&, std::uint64_t from, std::uint64_t to, std::vector<RecipeEntry> entries) {
    std::uint64_t new_bytes = 0;
    for (const RecipeEntry& entry : entries) new_bytes += entry.is_data() ? entry.length : 0;
    DEDUPFS_ASSIGN(const std::int64_t change, recipe.replace(from, to, std::move(entries)));
    // The record on disk may have counted wrong: what is written back is a number that a record may have.
    recipe_data_bytes = std::min(change < 0 && static_cast<std::uint64_t>(-change) > recipe_data_bytes
                                     ? 0
                                     : recipe_data_bytes + static_cast<std::uint64_t>(change),
                                 kLargestFile);
    volume.chunks().note_dropped(new_bytes - static_cast<std::uint64_t>(change));
    return {};
  }
  Result<void> cut_off(Lock& lock, std::uint64_t new_size);
  struct Clone;
  Result<void> clone_to(Clone& clone, std::uint64_t from, std::uint64_t to, std::uint64_t offset);

  Volume& volume;
  DirtyBudget& budget;
  const InodeNumber inode;

  mutable std::mutex mutex;
  std::condition_variable changed;
  bool busy = false;
  Recipe recipe;
  DirtyMap dirty;
  std::unique_ptr<WriteStream> stream;
  std::optional<Error> stream_error;  // results that cannot be applied come back to the dirty stretches
  std::uint64_t size;
  std::uint64_t recipe_data_bytes;
};

// ---------------------------------------------------------------- reading

// Dirty stretches lie over the stream, which lies over the recipe.
Result<FileContent::State::View> FileContent::State::view_at(const Lock&, std::uint64_t offset) {
  View view;
  std::uint64_t end = size;
  if (const auto extent = dirty.find_from(offset)) {
    if (extent->offset == offset) {
      view.source = extent->is_hole() ? View::Source::kHole : View::Source::kDirty;
      view.dirty = *extent;
      view.length = std::min(extent->end(), size) - offset;
      return view;
    }
    end = std::min(end, extent->offset);
  }
  if (stream && offset >= stream->stored_end() && offset < stream->end()) {
    view.stream = stream->part_at(offset);
    view.source = view.stream.bytes.bytes.empty() ? View::Source::kHole : View::Source::kStream;
    view.length = std::min(end - offset, view.stream.length);
    return view;
  }
  // What the stream will replace is not to be seen any more.
  if (stream && offset < stream->stored_end()) end = std::min(end, stream->stored_end());
  if (stream && offset >= stream->end()) {
    view.length = end - offset;
    return view;
  }
  DEDUPFS_ASSIGN(auto entry, recipe.find(offset));
  if (!entry) {
    view.length = end - offset;
    return view;
  }
  view.length = std::min(end, entry->end()) - offset;
  view.source = entry->entry.is_data() ? View::Source::kRecipe : View::Source::kHole;
  view.entry = std::move(*entry);
  return view;
}

// The first byte at or behind `from` that is in a hole, or that is not; the size when there is none.
Result<std::uint64_t> FileContent::State::run_start(const Lock& lock, std::uint64_t from, bool of_hole) {
  while (from < size) {
    DEDUPFS_ASSIGN(const View view, view_at(lock, from));
    if (view.is_hole() == of_hole) return from;
    from += view.length;
  }
  return size;
}

Result<std::vector<FileContent::State::Fetch>> FileContent::State::gather(const Lock& lock, std::uint64_t from,
                                                                          std::uint64_t to) {
  std::vector<Fetch> wanted;
  while (from < to) {
    DEDUPFS_ASSIGN(const View view, view_at(lock, from));
    Fetch part;
    part.offset = from;
    part.length = std::min(view.length, to - from);
    switch (view.source) {
      case View::Source::kHole:
        part.length = std::min<std::uint64_t>(part.length, kZeros.size());
        part.bytes.bytes = ByteSpan(kZeros).first(part.length);
        break;
      case View::Source::kDirty: part.bytes = copy_of(view.dirty.bytes.first(part.length)); break;
      case View::Source::kStream:
        part.bytes = {view.stream.bytes.bytes.first(part.length), view.stream.bytes.owner};
        break;
      case View::Source::kRecipe:
        part.skip = from - view.entry.offset;
        if (view.entry.entry.kind == RecipeEntry::Kind::kInline)
          part.bytes = copy_of(bytes_of(view.entry.entry.bytes).subspan(part.skip, part.length));
        else
          part.chunk = view.entry.entry.chunk;
        break;
    }
    from += part.length;
    wanted.push_back(std::move(part));
  }
  return wanted;
}

Result<std::vector<PinnedBytes>> FileContent::State::fetch(const std::vector<Fetch>& wanted) const {
  std::vector<PinnedBytes> pieces;
  pieces.reserve(wanted.size());
  for (const Fetch& part : wanted) {
    if (!part.chunk) {
      pieces.push_back(part.bytes);
      continue;
    }
    auto chunk = volume.chunks().get(*part.chunk);
    if (chunk && part.skip + part.length > chunk->bytes.size())
      chunk = Error{ErrorCode::kCorruption,
                    fmt::format("chunk {} is shorter than the recipe says", number_of(*part.chunk))};
    if (!chunk) return chunk.error().with(fmt::format("inode {} at offset {}", inode, part.offset));
    pieces.push_back({chunk->bytes.subspan(part.skip, part.length), std::move(chunk->owner)});
  }
  return pieces;
}

Result<std::vector<PinnedBytes>> FileContent::State::read(std::uint64_t from, std::uint64_t to) {
  const auto gather_now = [&] {
    const Lock lock(mutex);
    return gather(lock, from, std::min(to, size));
  };
  DEDUPFS_ASSIGN(std::vector<Fetch> wanted, gather_now());
  for (;;) {
    auto pieces = fetch(wanted);
    if (pieces) return pieces;
    // What was overwritten meanwhile may have been reclaimed: an error counts if the file still has what it is about.
    DEDUPFS_ASSIGN(std::vector<Fetch> now, gather_now());
    if (std::ranges::equal(now, wanted, {}, &Fetch::chunk, &Fetch::chunk)) return pieces;
    wanted = std::move(now);
  }
}

// ---------------------------------------------------------------- dirty stretches

// Every change of the map goes through here, so that the budget holds what the map holds.
void FileContent::State::change_dirty(const Lock&, std::uint64_t acquired,
                                      const std::function<void(DirtyMap&)>& change) {
  const std::uint64_t before = dirty.memory_bytes() + acquired;
  change(dirty);
  const std::uint64_t after = dirty.memory_bytes();
  if (before > after) budget.release(before - after);
  if (after > before) budget.force(after - before);
}

// Puts what could not be stored back, below what was written since.
void FileContent::State::keep_dirty(const Lock& lock, const WriteStream::Part& part) {
  const std::uint64_t end = std::min(part.offset + part.length, size);
  for (std::uint64_t offset = part.offset; offset < end;) {
    const auto newer = dirty.find_from(offset);
    if (newer && newer->offset == offset) {
      offset = newer->end();
      continue;
    }
    const std::uint64_t gap = (newer ? std::min(newer->offset, end) : end) - offset;
    change_dirty(lock, 0, [&](DirtyMap& map) {
      if (part.bytes.bytes.empty())
        map.punch(offset, gap);
      else
        map.write(offset, part.bytes.bytes.subspan(offset - part.offset, gap));
    });
    offset += gap;
  }
}

Result<void> FileContent::State::flush_dirty(Lock& lock) {
  if (dirty.empty()) return {};
  if (size <= kInlineBytes) return flush_inline(lock);
  while (const auto extent = dirty.find_from(0)) DEDUPFS_TRY(flush_stretch(lock, extent->offset));
  return {};
}

Result<void> FileContent::State::flush_inline(Lock& lock) {
  DEDUPFS_ASSIGN(const auto wanted, gather(lock, 0, size));
  lock.unlock();
  const auto pieces = fetch(wanted);
  lock.lock();
  if (!pieces) return pieces.error();
  RecipeEntry entry;
  for (const PinnedBytes& piece : *pieces) entry.bytes += text_of(piece.bytes);
  entry.length = entry.bytes.size();
  entry.kind = RecipeEntry::Kind::kInline;
  std::vector<RecipeEntry> entries;
  if (!all_zero(bytes_of(entry.bytes))) entries.push_back(std::move(entry));
  DEDUPFS_TRY(replace(lock, 0, kEndOfRecipe, std::move(entries)));
  change_dirty(lock, 0, [](DirtyMap& map) { map.clear(); });
  return {};
}

// Where cutting anew must start, so that boundaries become those of the content as a whole: at the entry that holds `offset`.
// An entry that ended only because the file did is cut anew, too, when something follows it.
Result<std::uint64_t> FileContent::State::restart_point(Lock& lock, std::uint64_t offset) {
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

Result<bool> FileContent::State::entry_is_zeros(Lock& lock, const PlacedEntry& entry) {
  if (entry.entry.kind != RecipeEntry::Kind::kChunk || entry.entry.length >= kHoleRunBytes) return false;
  lock.unlock();
  const auto chunk = volume.chunks().get(entry.entry.chunk);
  lock.lock();
  if (!chunk) return chunk.error();
  return all_zero(chunk->bytes);
}

Result<bool> FileContent::State::is_boundary(const Lock&, std::uint64_t offset) {
  DEDUPFS_ASSIGN(const std::uint64_t end, recipe.end());
  if (offset >= end) return true;
  DEDUPFS_ASSIGN(const auto entry, recipe.find(offset));
  return entry && entry->offset == offset;
}

// Feeds content from `from` on, at most to `to`, and returns how far it came: a hole is fed whole, bytes in portions.
Result<std::uint64_t> FileContent::State::feed(Lock& lock, WriteStream& into, std::uint64_t from, std::uint64_t to) {
  DEDUPFS_ASSIGN(const View view, view_at(lock, from));
  const std::uint64_t length = std::min(view.length, to - from);
  if (view.is_hole() && length >= kSmallestHole) {
    feed_hole(into, length);
    return from + length;
  }
  const std::uint64_t portion = std::min(length, kFeedBytes);
  DEDUPFS_ASSIGN(const auto wanted, gather(lock, from, from + portion));
  lock.unlock();
  const auto pieces = fetch(wanted);
  lock.lock();
  if (!pieces) return pieces.error();
  budget.force(portion);
  for (const PinnedBytes& piece : *pieces) into.feed(piece.bytes);
  return from + portion;
}

// The end of a long hole is fed as zeros, so that zeros behind it make it longer.
void FileContent::State::feed_hole(WriteStream& into, std::uint64_t length) {
  if (length < kHoleRunBytes) return into.feed_hole(length);
  if (length > kHoleRunBytes) into.feed_hole(length - kHoleRunBytes);
  budget.force(kHoleRunBytes);
  into.feed(ByteSpan(kZeros).first(kHoleRunBytes));
}

// Cuts the dirty stretch at `offset`, and those that it runs into, anew, until the boundaries fall in with the old ones.
Result<void> FileContent::State::flush_stretch(Lock& lock, std::uint64_t offset) {
  DEDUPFS_ASSIGN(const std::uint64_t start, restart_point(lock, offset));

  struct Collected {
    std::vector<RecipeEntry> entries;
    std::optional<Error> error;
  } collected;
  std::unique_ptr<WriteStream> stretch;
  stretch = std::make_unique<WriteStream>(volume, start, [&](Result<std::vector<ChunkId>> ids) {
    const Lock inner(mutex);
    if (!ids && !collected.error) collected.error = ids.error();
    WriteStream::Landed landed = stretch->take_stored(ids ? &*ids : nullptr);
    budget.release(landed.bytes);
    std::ranges::move(landed.entries, std::back_inserter(collected.entries));
    changed.notify_all();
  });

  const auto run = [&]() -> Result<std::uint64_t> {
    std::uint64_t position = start;
    std::uint64_t dirty_end =
        dirty.find_from(offset)->end();  // no boundary before it counts: the stretch must get done
    for (;;) {
      DEDUPFS_ASSIGN(std::uint64_t content_end, recipe.end());
      content_end = std::min(size, std::max(content_end, dirty.end()));
      if (position >= content_end) {
        stretch->cut(true);
        stretch->put();
        return position;
      }
      // One old entry at a time, once the dirty bytes are behind, and up to the next ones.
      std::uint64_t to = content_end;
      if (position >= dirty_end) {
        DEDUPFS_ASSIGN(const auto entry, recipe.find(position));
        if (entry) to = entry->end();
        const auto next = dirty.find_from(position);
        if (next && next->offset < to) {
          dirty_end = next->end();
          to = content_end;
        }
      }
      if (position < dirty_end) to = std::min(to, dirty_end);
      DEDUPFS_ASSIGN(position, feed(lock, *stretch, position, to));
      if (position < dirty_end) continue;
      stretch->cut(false);
      for (const std::uint64_t end : stretch->cut_ends()) {
        if (end < dirty_end) continue;
        DEDUPFS_ASSIGN(const bool old_boundary, is_boundary(lock, end));
        if (!old_boundary) continue;
        budget.release(stretch->end() - end);
        stretch->drop_from(end);
        stretch->put();
        return end;
      }
      stretch->put();
    }
  };
  const auto stop = run();
  changed.wait(lock, [&] { return !stretch->in_flight(); });
  for (const WriteStream::Part& part : stretch->take_unput()) budget.release(part.length);
  if (!stop) return stop.error();
  if (collected.error) return *collected.error;
  DEDUPFS_ASSIGN(const std::uint64_t old_end, recipe.end());
  DEDUPFS_TRY(replace(lock, start, *stop >= old_end ? kEndOfRecipe : *stop, std::move(collected.entries)));
  change_dirty(lock, 0, [&](DirtyMap& map) { map.erase(start, *stop - start); });
  return {};
}

// ---------------------------------------------------------------- the stream at the end of the file

// The start of the dirty bytes, if they are one stretch at the end of the file and worth a stream.
std::optional<std::uint64_t> FileContent::State::stream_start(const Lock&) const {
  const auto first = dirty.find_from(0);
  if (!first || stream || size - first->offset < kStreamBytes) return std::nullopt;
  std::uint64_t end = first->offset;
  for (auto extent = first; extent && extent->offset == end && !extent->is_hole(); extent = dirty.find_from(end))
    end = extent->end();
  if (end != size) return std::nullopt;
  return first->offset;
}

Result<void> FileContent::State::start_stream(Lock& lock, std::uint64_t from) {
  DEDUPFS_ASSIGN(const std::uint64_t start, restart_point(lock, from));
  DEDUPFS_ASSIGN(const std::uint64_t old_end, recipe.end());
  DEDUPFS_ASSIGN(const auto entries, recipe.list(start, std::min(from, old_end)));
  std::vector<WriteStream::Part> head;
  for (const PlacedEntry& entry : entries) {
    head.push_back({entry.offset, std::min(entry.end(), from) - entry.offset, {}});
    if (!entry.entry.is_data()) continue;
    DEDUPFS_ASSIGN(const auto wanted, gather(lock, entry.offset, entry.offset + head.back().length));
    lock.unlock();
    auto pieces = fetch(wanted);
    lock.lock();
    if (!pieces) return pieces.error();
    head.back().bytes = std::move(pieces->front());
  }

  stream =
      std::make_unique<WriteStream>(volume, start, [this](Result<std::vector<ChunkId>> ids) { land(std::move(ids)); });
  for (const WriteStream::Part& part : head) {
    if (part.bytes.bytes.empty())
      feed_hole(*stream, part.length);
    else
      append_to_stream(lock, part.offset, part.bytes.bytes);
  }
  for (const DirtyMap::Extent& extent : dirty.list(from, size)) append_to_stream(lock, extent.offset, extent.bytes);
  change_dirty(lock, 0, [](DirtyMap& map) { map.clear(); });
  return {};
}

void FileContent::State::append_to_stream(const Lock&, std::uint64_t offset, ByteSpan bytes) {
  const std::uint64_t gap = offset - stream->end();
  budget.force(bytes.size());
  if (gap >= kSmallestHole) {
    feed_hole(*stream, gap);
  } else if (gap != 0) {
    budget.force(gap);
    stream->feed(ByteSpan(kZeros).first(gap));
  }
  stream->feed(bytes);
}

// A flight of the stream has landed, on a thread of the pool.
void FileContent::State::land(Result<std::vector<ChunkId>> ids) {
  const Lock lock(mutex);
  if (!ids && !stream_error) stream_error = ids.error();
  const WriteStream::Landed landed = stream->take_stored(ids ? &*ids : nullptr);
  if (!stream_error) {
    if (auto replaced = replace(lock, landed.offset, kEndOfRecipe, landed.entries); !replaced)
      stream_error = replaced.error();
  }
  if (stream_error)
    for (const WriteStream::Part& part : landed.parts) keep_dirty(lock, part);
  budget.release(landed.bytes);
  changed.notify_all();
}

Result<void> FileContent::State::end_stream(Lock& lock) {
  if (!stream) return {};
  if (!stream_error) {
    stream->cut(true);
    stream->put();
  }
  changed.wait(lock, [this] { return !stream->in_flight(); });
  for (const WriteStream::Part& part : stream->take_unput()) {
    keep_dirty(lock, part);
    budget.release(part.length);
  }
  stream.reset();
  if (const auto error = std::exchange(stream_error, std::nullopt)) return *error;
  return {};
}

// ---------------------------------------------------------------- other changes

// Shortens the recipe to `new_size`; what is left of an entry in the middle becomes dirty bytes.
Result<void> FileContent::State::cut_off(Lock& lock, std::uint64_t new_size) {
  DEDUPFS_ASSIGN(const auto entry, recipe.find(new_size));
  std::vector<PinnedBytes> left;
  if (entry && entry->entry.is_data() && entry->offset < new_size) {
    DEDUPFS_ASSIGN(const auto wanted, gather(lock, entry->offset, new_size));
    lock.unlock();
    auto pieces = fetch(wanted);
    lock.lock();
    if (!pieces) return pieces.error();
    left = std::move(*pieces);
  }
  change_dirty(lock, 0, [new_size](DirtyMap& map) { map.truncate(new_size); });
  size = new_size;
  if (!entry) return {};
  DEDUPFS_TRY(replace(lock, entry->offset, kEndOfRecipe, {}));
  std::uint64_t offset = entry->offset;
  for (PinnedBytes& piece : left) {
    const std::uint64_t length = piece.bytes.size();
    keep_dirty(lock, {offset, length, std::move(piece)});
    offset += length;
  }
  return {};
}

// What a cloned range is made of: entries, and bytes for those that are not cloned whole, whose place a hole holds.
struct FileContent::State::Clone {
  std::vector<RecipeEntry> entries;
  std::vector<WriteStream::Part> bytes;  // offsets in the file that they go to

  void add_hole(std::uint64_t length) {
    if (length != 0) entries.push_back({RecipeEntry::Kind::kHole, length, {}, {}});
  }
};

// Appends [from, to) of this content to `clone`, as it will be at `offset` of another.
Result<void> FileContent::State::clone_to(Clone& clone, std::uint64_t from, std::uint64_t to, std::uint64_t offset) {
  std::vector<PlacedEntry> placed;
  {
    const Lock lock(mutex);
    DEDUPFS_ASSIGN(placed, recipe.list(from, to));
  }
  std::uint64_t position = from;
  for (const PlacedEntry& entry : placed) {
    const std::uint64_t begin = std::max(entry.offset, from);
    const std::uint64_t end = std::min(entry.end(), to);
    const bool whole = begin == entry.offset && end == entry.end();
    if (whole && entry.entry.kind == RecipeEntry::Kind::kChunk) {
      clone.entries.push_back(entry.entry);
    } else {
      clone.add_hole(end - begin);
      if (entry.entry.is_data()) {
        DEDUPFS_ASSIGN(auto pieces, read(begin, end));
        std::uint64_t at = offset + (begin - from);
        for (PinnedBytes& piece : pieces) {
          const std::uint64_t length = piece.bytes.size();
          clone.bytes.push_back({at, length, std::move(piece)});
          at += length;
        }
      }
    }
    position = end;
  }
  clone.add_hole(to - position);
  return {};
}

// ---------------------------------------------------------------- the interface

FileContent::FileContent(Volume& volume, DirtyBudget& budget, InodeNumber inode, std::uint64_t size,
                         std::uint64_t data_bytes)
    : state_(std::make_unique<State>(volume, budget, inode, size, data_bytes)) {}

FileContent::~FileContent() {
  State::Exclusive exclusive(*state_);
  State::Lock& lock = exclusive.lock();
  if (state_->stream) {
    state_->changed.wait(lock, [this] { return !state_->stream->in_flight(); });
    for (const WriteStream::Part& part : state_->stream->take_unput()) state_->budget.release(part.length);
    state_->stream.reset();
  }
  state_->change_dirty(lock, 0, [](DirtyMap& map) { map.clear(); });
}

std::uint64_t FileContent::size() const {
  const State::Lock lock(state_->mutex);
  return state_->size;
}

std::uint64_t FileContent::data_bytes() const {
  const State::Lock lock(state_->mutex);
  std::uint64_t bytes = state_->recipe_data_bytes + state_->dirty.memory_bytes();
  if (state_->stream) bytes += state_->stream->end() - state_->stream->stored_end();
  return std::min(bytes, state_->size);
}

std::uint64_t FileContent::stored_data_bytes() const {
  const State::Lock lock(state_->mutex);
  return state_->recipe_data_bytes;
}

bool FileContent::dirty() const {
  const State::Lock lock(state_->mutex);
  return state_->stream != nullptr || !state_->dirty.empty();
}

Result<std::vector<PinnedBytes>> FileContent::read(std::uint64_t offset, std::size_t length) {
  return state_->read(offset, length > kLargestFile - std::min(offset, kLargestFile) ? kLargestFile : offset + length);
}

void FileContent::prefetch(std::uint64_t offset, std::uint64_t length) {
  std::vector<ChunkId> wanted;
  {
    const State::Lock lock(state_->mutex);
    const auto entries = state_->recipe.list(offset, offset + length);
    if (!entries) return;
    for (const PlacedEntry& entry : *entries) {
      if (entry.entry.kind == RecipeEntry::Kind::kChunk) wanted.push_back(entry.entry.chunk);
    }
  }
  state_->volume.chunks().prefetch(std::move(wanted));
}

Result<void> FileContent::write(std::uint64_t offset, ByteSpan bytes) {
  State::Exclusive exclusive(*state_);
  State::Lock& lock = exclusive.lock();
  if (offset > kLargestFile || bytes.size() > kLargestFile - offset) {
    state_->budget.release(bytes.size());
    return Error{ErrorCode::kTooLarge, "write behind the largest offset"};
  }
  if (bytes.empty()) return {};
  state_->size = std::max(state_->size, offset + bytes.size());
  const bool follows_stream =
      state_->stream && !state_->stream_error && offset >= state_->stream->end() && state_->dirty.end() <= offset;
  if (follows_stream) {
    state_->append_to_stream(lock, offset, bytes);
    state_->budget.release(bytes.size());  // the stream has taken its own share
    return {};
  }
  state_->change_dirty(lock, bytes.size(), [&](DirtyMap& map) { map.write(offset, bytes); });
  if (const auto start = state_->stream_start(lock)) {
    // If it cannot start, the bytes stay dirty, and the next flush says why.
    (void)state_->start_stream(lock, *start);
    return {};
  }
  if (state_->dirty.memory_bytes() > kMostDirtyBytes) return state_->settle(lock);
  return {};
}

Result<void> FileContent::truncate(std::uint64_t size) {
  State::Exclusive exclusive(*state_);
  State::Lock& lock = exclusive.lock();
  if (size > kLargestFile) return Error{ErrorCode::kTooLarge, "size beyond the largest file"};
  if (size >= state_->size) {
    state_->size = size;
    return {};
  }
  // What the stream could not store is dirty then, and cut off like everything else.
  (void)state_->end_stream(lock);
  return state_->cut_off(lock, size);
}

Result<void> FileContent::punch(std::uint64_t offset, std::uint64_t length) {
  State::Exclusive exclusive(*state_);
  State::Lock& lock = exclusive.lock();
  if (offset >= state_->size) return {};
  DEDUPFS_TRY(state_->end_stream(lock));
  const std::uint64_t end = std::min(state_->size, length > kLargestFile - offset ? kLargestFile : offset + length);
  state_->change_dirty(lock, 0, [&](DirtyMap& map) { map.punch(offset, end - offset); });
  return state_->flush_dirty(lock);
}

Result<void> FileContent::clone_range(FileContent& from, std::uint64_t from_offset, std::uint64_t offset,
                                      std::uint64_t length) {
  State& target = *state_;
  State& source = *from.state_;
  // Both stand still while this runs; the locks themselves are never held together.
  std::optional<State::Exclusive> first;
  std::optional<State::Exclusive> second;
  first.emplace(source.inode <= target.inode ? source : target);
  first->lock().unlock();
  if (&source != &target) {
    second.emplace(source.inode <= target.inode ? target : source);
    second->lock().unlock();
  }
  const auto locked = [](State& state, const auto& work) -> Result<void> {
    State::Lock lock(state.mutex);
    return work(lock);
  };
  DEDUPFS_TRY(locked(source, [&](State::Lock& lock) { return source.settle(lock); }));
  DEDUPFS_TRY(locked(target, [&](State::Lock& lock) { return target.settle(lock); }));

  if (from_offset >= source.size || length == 0) return {};
  length = std::min(length, source.size - from_offset);
  if (offset > kLargestFile - length) return Error{ErrorCode::kTooLarge, "range behind the largest offset"};
  const std::uint64_t end = offset + length;

  // Entries of the target that stick out of the range are kept in part.
  std::uint64_t replace_from = offset;
  std::uint64_t replace_to = end;
  DEDUPFS_TRY(locked(target, [&](State::Lock&) -> Result<void> {
    DEDUPFS_ASSIGN(const auto left, target.recipe.find(offset));
    DEDUPFS_ASSIGN(const auto right, target.recipe.find(end));
    if (left) replace_from = left->offset;
    if (right) replace_to = right->offset == end ? end : right->end();
    if (!right) replace_to = kEndOfRecipe;
    return {};
  }));
  State::Clone clone;
  DEDUPFS_TRY(target.clone_to(clone, replace_from, offset, replace_from));
  DEDUPFS_TRY(source.clone_to(clone, from_offset, from_offset + length, offset));
  if (replace_to != kEndOfRecipe) DEDUPFS_TRY(target.clone_to(clone, end, replace_to, end));

  return locked(target, [&](State::Lock& lock) -> Result<void> {
    DEDUPFS_TRY(target.replace(lock, replace_from, replace_to, std::move(clone.entries)));
    target.size = std::max(target.size, end);
    for (const WriteStream::Part& part : clone.bytes) target.keep_dirty(lock, part);
    return target.flush_dirty(lock);
  });
}

// Data and holes are told apart in blocks: a block that has any data is data. Programs that copy files by SEEK_DATA and
// SEEK_HOLE with O_DIRECT need boundaries that they can read from and write to.
Result<std::uint64_t> FileContent::find_data(std::uint64_t offset) {
  State::Exclusive exclusive(*state_);
  DEDUPFS_TRY(state_->end_stream(exclusive.lock()));
  if (offset < state_->size) {
    DEDUPFS_ASSIGN(const std::uint64_t data, state_->run_start(exclusive.lock(), block_start(offset), false));
    if (data < state_->size) return std::max(offset, block_start(data));
  }
  return Error{ErrorCode::kNoData, "no data behind this offset"};
}

Result<std::uint64_t> FileContent::find_hole(std::uint64_t offset) {
  State::Exclusive exclusive(*state_);
  const State::Lock& lock = exclusive.lock();
  DEDUPFS_TRY(state_->end_stream(exclusive.lock()));
  if (offset >= state_->size) return Error{ErrorCode::kNoData, "offset behind the end of the file"};
  for (std::uint64_t position = block_start(offset);;) {
    DEDUPFS_ASSIGN(const std::uint64_t hole, state_->run_start(lock, position, true));
    DEDUPFS_ASSIGN(const std::uint64_t end, state_->run_start(lock, hole, false));
    // The first block that begins in the hole. A file ends within a block or at its end.
    const std::uint64_t block = block_start(hole + (kSeekBlockBytes - 1));
    if (end >= state_->size) return std::max(offset, std::min(block, state_->size));
    if (block + kSeekBlockBytes <= end) return std::max(offset, block);
    position = end;
  }
}

Result<void> FileContent::flush() {
  State::Exclusive exclusive(*state_);
  return state_->settle(exclusive.lock());
}

}  // namespace dedupfs
