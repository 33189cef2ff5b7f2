#include "fs/content/file_content.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/guarded.h"
#include "fs/content/file_content_state.h"

namespace dedupfs {
namespace {

// What a file may keep in dirty extents, in memory, before it is flushed on the spot.
constexpr std::uint64_t kMaxDirtyBytes = 16 << 20;
// A longer hole gives back its space at once.
constexpr std::uint64_t kMaxWaitingHole = 1 << 20;
constexpr std::uint64_t kSeekBlockBytes = 4096;  // what lseek() finds begins and ends with a block of this size

std::uint64_t block_start(std::uint64_t offset) {
  return offset - offset % kSeekBlockBytes;
}

}  // namespace

// Shortens the recipe to `new_size`; what is left of an entry in the middle becomes dirty bytes.
Result<void> FileContentState::cut_off(Lock& lock, std::uint64_t new_size) {
  DEDUPFS_ASSIGN(const auto entry, recipe.find(new_size));
  std::vector<PinnedBytes> left;
  if (entry && entry->entry.is_data() && entry->offset < new_size) {
    DEDUPFS_ASSIGN(left, fetch_range(lock, entry->offset, new_size));
  }
  // The recipe is cut when its rest is safe, and everything else behind it cannot fail.
  std::uint64_t offset = entry ? entry->offset : 0;
  for (PinnedBytes& piece : left) {
    const std::uint64_t length = piece.bytes.size();
    keep_dirty(lock, {offset, length, std::move(piece)});
    offset += length;
  }
  if (entry) DEDUPFS_TRY(replace(lock, entry->offset, kEndOfRecipe, {}));
  change_dirty(lock, [new_size](DirtyMap& map) { map.truncate(new_size); });
  size = new_size;
  return {};
}

// What a cloned range is made of: entries, and bytes for those that are not cloned whole, whose place a hole holds.
struct FileContentState::Clone {
  std::vector<RecipeEntry> entries;
  std::vector<WriteStream::Part> bytes;  // offsets in the file that they go to

  void add_hole(std::uint64_t length) {
    if (length != 0) entries.push_back({RecipeEntry::Kind::kHole, length, {}, {}});
  }
};

// Appends [from, to) of this content to `clone`, as it will be at `offset` of another.
Result<void> FileContentState::clone_to(Clone& clone, std::uint64_t from, std::uint64_t to, std::uint64_t offset) {
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
    : state_(std::make_unique<FileContentState>(volume, budget, inode, size, data_bytes)) {}

FileContent::~FileContent() {
  FileContentState::Exclusive exclusive(*state_);
  FileContentState::Lock& lock = exclusive.lock();
  if (state_->stream) {
    state_->changed.wait(lock, [this] { return !state_->stream->in_flight(); });
    state_->stream.reset();
  }
  state_->change_dirty(lock, [](DirtyMap& map) { map.clear(); });
}

std::uint64_t FileContent::size() const {
  const FileContentState::Lock lock(state_->mutex);
  return state_->size;
}

std::uint64_t FileContent::data_bytes() const {
  const FileContentState::Lock lock(state_->mutex);
  std::uint64_t bytes = state_->recipe_data_bytes + state_->dirty.data_bytes();
  bytes -= std::min(bytes, state_->punched_bytes);
  if (state_->stream) bytes += state_->stream->end() - state_->stream->stored_end();
  return std::min(bytes, state_->size);
}

std::uint64_t FileContent::stored_data_bytes() const {
  const FileContentState::Lock lock(state_->mutex);
  return state_->recipe_data_bytes;
}

bool FileContent::dirty() const {
  const FileContentState::Lock lock(state_->mutex);
  return state_->stream != nullptr || !state_->dirty.empty();
}

Result<std::vector<PinnedBytes>> FileContent::read(std::uint64_t offset, std::size_t length) {
  return state_->read(offset,
                      length > kMaxFileBytes - std::min(offset, kMaxFileBytes) ? kMaxFileBytes : offset + length);
}

void FileContent::prefetch(std::uint64_t offset, std::uint64_t length) {
  std::vector<ChunkId> wanted;
  {
    const FileContentState::Lock lock(state_->mutex);
    const auto entries = state_->recipe.list(offset, offset + length);
    if (!entries) return;
    for (const PlacedEntry& entry : *entries) {
      if (entry.entry.kind == RecipeEntry::Kind::kChunk) wanted.push_back(entry.entry.chunk);
    }
  }
  state_->volume.chunks().prefetch(std::move(wanted));
}

Result<void> FileContent::write(std::uint64_t offset, ByteSpan bytes, DirtyBudget::Share /*acquired*/) {
  FileContentState::Exclusive exclusive(*state_);
  if (offset > kMaxFileBytes || bytes.size() > kMaxFileBytes - offset)
    return Error{ErrorCode::kTooLarge, "write behind the largest offset"};
  if (bytes.empty()) return {};
  return guarded([&] { return state_->write(exclusive.lock(), offset, bytes); });
}

Result<void> FileContentState::write(Lock& lock, std::uint64_t offset, ByteSpan bytes) {
  const bool follows_stream = stream && !stream_error && offset >= stream->end() && dirty.end() <= offset;
  if (follows_stream) {
    size = std::max(size, offset + bytes.size());
    append_to_stream(lock, offset, bytes);
    return {};
  }
  change_dirty(lock, [&](DirtyMap& map) { map.write(offset, bytes); });
  size = std::max(size, offset + bytes.size());
  if (const auto start = stream_start(lock)) {
    // If it cannot start, the bytes stay dirty, and the next flush says why.
    (void)start_stream(lock, *start);
    return {};
  }
  if (dirty.memory_bytes() > kMaxDirtyBytes) return settle(lock);
  return {};
}

Result<void> FileContent::truncate(std::uint64_t size) {
  FileContentState::Exclusive exclusive(*state_);
  FileContentState::Lock& lock = exclusive.lock();
  if (size > kMaxFileBytes) return Error{ErrorCode::kTooLarge, "size beyond the largest file"};
  if (size >= state_->size) {
    state_->size = size;
    return {};
  }
  return guarded([&] {
    // What the stream could not store is dirty then, and cut off like everything else.
    (void)state_->end_stream(lock);
    return state_->cut_off(lock, size);
  });
}

// Short holes wait with the other dirty extents: to cut the content around each of them anew takes as long as around many.
Result<void> FileContent::punch(std::uint64_t offset, std::uint64_t length) {
  FileContentState::Exclusive exclusive(*state_);
  FileContentState::Lock& lock = exclusive.lock();
  if (offset >= state_->size) return {};
  const std::uint64_t end = std::min(state_->size, length > kMaxFileBytes - offset ? kMaxFileBytes : offset + length);
  return guarded([&]() -> Result<void> {
    DEDUPFS_TRY(state_->end_stream(lock));
    const bool waits = end - offset <= kMaxWaitingHole;
    std::uint64_t punched = 0;
    if (waits) {
      DEDUPFS_ASSIGN(punched, state_->data_bytes_in(lock, offset, end));
    }
    state_->change_dirty(lock, [&](DirtyMap& map) { map.punch(offset, end - offset); });
    state_->punched_bytes += punched;
    if (waits && state_->dirty.memory_bytes() <= kMaxDirtyBytes) return {};
    return state_->flush_dirty(lock);
  });
}

Result<void> FileContent::clone_range(FileContent& from, std::uint64_t from_offset, std::uint64_t offset,
                                      std::uint64_t length) {
  return guarded([&] { return FileContentState::clone_range(*from.state_, from_offset, *state_, offset, length); });
}

Result<void> FileContentState::clone_range(FileContentState& source, std::uint64_t from_offset,
                                           FileContentState& target, std::uint64_t offset, std::uint64_t length) {
  // Both stand still while this runs; the locks themselves are never held together.
  std::optional<FileContentState::Exclusive> first;
  std::optional<FileContentState::Exclusive> second;
  first.emplace(source.inode <= target.inode ? source : target);
  first->lock().unlock();
  if (&source != &target) {
    second.emplace(source.inode <= target.inode ? target : source);
    second->lock().unlock();
  }
  const auto locked = [](FileContentState& state, const auto& work) -> Result<void> {
    FileContentState::Lock lock(state.mutex);
    return work(lock);
  };
  DEDUPFS_TRY(locked(source, [&](FileContentState::Lock& lock) { return source.settle(lock); }));
  DEDUPFS_TRY(locked(target, [&](FileContentState::Lock& lock) { return target.settle(lock); }));

  if (from_offset >= source.size || length == 0) return {};
  length = std::min(length, source.size - from_offset);
  if (offset > kMaxFileBytes - length) return Error{ErrorCode::kTooLarge, "range behind the largest offset"};
  const std::uint64_t end = offset + length;

  // Entries of the target that stick out of the range are kept in part.
  std::uint64_t replace_from = offset;
  std::uint64_t replace_to = end;
  DEDUPFS_TRY(locked(target, [&](FileContentState::Lock&) -> Result<void> {
    DEDUPFS_ASSIGN(const auto left, target.recipe.find(offset));
    DEDUPFS_ASSIGN(const auto right, target.recipe.find(end));
    if (left) replace_from = left->offset;
    if (right) replace_to = right->offset == end ? end : right->end();
    if (!right) replace_to = kEndOfRecipe;
    return {};
  }));
  FileContentState::Clone clone;
  DEDUPFS_TRY(target.clone_to(clone, replace_from, offset, replace_from));
  DEDUPFS_TRY(source.clone_to(clone, from_offset, from_offset + length, offset));
  if (replace_to != kEndOfRecipe) DEDUPFS_TRY(target.clone_to(clone, end, replace_to, end));

  return locked(target, [&](FileContentState::Lock& lock) -> Result<void> {
    DEDUPFS_TRY(target.replace(lock, replace_from, replace_to, std::move(clone.entries)));
    target.size = std::max(target.size, end);
    for (const WriteStream::Part& part : clone.bytes) target.keep_dirty(lock, part);
    return target.flush_dirty(lock);
  });
}

// Data and holes are told apart in blocks: a block that has any data is data. Programs that copy files by SEEK_DATA and
// SEEK_HOLE with O_DIRECT need boundaries that they can read from and write to.
Result<std::uint64_t> FileContent::find_data(std::uint64_t offset) {
  FileContentState::Exclusive exclusive(*state_);
  DEDUPFS_TRY(state_->end_stream(exclusive.lock()));
  if (offset < state_->size) {
    DEDUPFS_ASSIGN(const std::uint64_t data, state_->run_start(exclusive.lock(), block_start(offset), false));
    if (data < state_->size) return std::max(offset, block_start(data));
  }
  return Error{ErrorCode::kNoData, "no data behind this offset"};
}

Result<std::uint64_t> FileContent::find_hole(std::uint64_t offset) {
  FileContentState::Exclusive exclusive(*state_);
  const FileContentState::Lock& lock = exclusive.lock();
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
  FileContentState::Exclusive exclusive(*state_);
  return guarded([&] { return state_->settle(exclusive.lock()); });
}

}  // namespace dedupfs
