#include "fs/content/file_content.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/guarded.h"
#include "fs/content/content_lock.h"
#include "fs/content/content_view.h"
#include "fs/content/counted_recipe.h"
#include "fs/content/dirty_flush.h"
#include "fs/content/dirty_layer.h"
#include "fs/content/tail_stream.h"

namespace dedupfs {
namespace {

using Held = ContentLock::Held;

// A file with more memory than this in dirty extents is flushed at once.
constexpr std::uint64_t kMaxDirtyBytes = 16 << 20;
// A longer hole gives back its space at once.
constexpr std::uint64_t kMaxWaitingHole = 1 << 20;
constexpr std::uint64_t kSeekBlockBytes = 4096;  // the data and holes of lseek() consist of whole blocks

std::uint64_t block_start(std::uint64_t offset) {
  return offset - offset % kSeekBlockBytes;
}

}  // namespace

// The layers of one content, and the operations on all of them.
struct FileContentState {
  FileContentState(Volume& its_volume, DirtyBudget& budget, InodeNumber number, std::uint64_t size,
                   std::uint64_t data_bytes)
      : volume(its_volume),
        inode(number),
        recipe(volume, number, size, data_bytes),
        dirty(budget),
        view(volume.chunks(), number, recipe, dirty, size),
        stream(parts(budget)),
        flush(parts(budget)) {}

  ContentParts parts(DirtyBudget& budget) { return {volume, budget, lock, recipe, dirty, view}; }

  Result<void> settle(Held& held) {
    DEDUPFS_TRY(stream.end(held));
    return flush.run(held);
  }
  Result<void> write(Held& held, std::uint64_t offset, ByteSpan bytes);
  Result<void> cut_off(Held& held, std::uint64_t new_size);
  struct Clone;
  Result<void> clone_to(Clone& clone, std::uint64_t from, std::uint64_t to, std::uint64_t offset);

  Volume& volume;
  const InodeNumber inode;
  ContentLock lock;
  CountedRecipe recipe;
  DirtyLayer dirty;
  ContentView view;
  TailStream stream;
  DirtyFlush flush;
};

// Shortens the recipe to `new_size`. If this cuts an entry, the rest of the entry becomes dirty bytes.
Result<void> FileContentState::cut_off(Held& held, std::uint64_t new_size) {
  DEDUPFS_ASSIGN(const auto entry, recipe.find(new_size));
  std::vector<PinnedBytes> left;
  if (entry && entry->entry.is_data() && entry->offset < new_size) {
    DEDUPFS_ASSIGN(left, view.read_and_lock(held, entry->offset, new_size));
  }
  // First the rest of the entry is made safe. Then the recipe is cut, and no step after that can fail.
  std::uint64_t offset = entry ? entry->offset : 0;
  for (PinnedBytes& piece : left) {
    const std::uint64_t length = piece.bytes.size();
    dirty.keep({offset, length, std::move(piece)}, view.size());
    offset += length;
  }
  if (entry) DEDUPFS_TRY(recipe.replace(entry->offset, kEndOfRecipe, {}));
  dirty.truncate(new_size);
  view.set_size(new_size);
  return {};
}

// A cloned range as entries and bytes. An entry that is not cloned as a whole is copied as bytes, and a hole takes its place
// among the entries.
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
    const Held held = lock.hold();
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
        Held held = lock.hold();
        DEDUPFS_ASSIGN(auto pieces, view.read(held, begin, end));
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

namespace {

Result<void> copy_by_reference(FileContentState& source, std::uint64_t from_offset, FileContentState& target,
                               std::uint64_t offset, std::uint64_t length) {
  // Nothing changes either content while this runs. The two mutexes are never held together.
  std::optional<ContentLock::Exclusive> first;
  std::optional<ContentLock::Exclusive> second;
  first.emplace(source.inode <= target.inode ? source.lock : target.lock);
  first->held().unlock();
  if (&source != &target) {
    second.emplace(source.inode <= target.inode ? target.lock : source.lock);
    second->held().unlock();
  }
  const auto locked = [](FileContentState& state, const auto& work) -> Result<void> {
    Held held = state.lock.hold();
    return work(held);
  };
  DEDUPFS_TRY(locked(source, [&](Held& held) { return source.settle(held); }));
  DEDUPFS_TRY(locked(target, [&](Held& held) { return target.settle(held); }));

  if (from_offset >= source.view.size() || length == 0) return {};
  length = std::min(length, source.view.size() - from_offset);
  if (offset > kMaxFileBytes - length) return Error{ErrorCode::kTooLarge, "range behind the largest offset"};
  const std::uint64_t end = offset + length;

  // Entries of the target that stick out of the range are kept in part.
  std::uint64_t replace_from = offset;
  std::uint64_t replace_to = end;
  DEDUPFS_TRY(locked(target, [&](Held&) -> Result<void> {
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

  return locked(target, [&](Held& held) -> Result<void> {
    DEDUPFS_TRY(target.recipe.replace(replace_from, replace_to, std::move(clone.entries)));
    target.view.set_size(std::max(target.view.size(), end));
    for (const WriteStream::Part& part : clone.bytes) target.dirty.keep(part, target.view.size());
    return target.flush.run(held);
  });
}

}  // namespace

// ---------------------------------------------------------------- the interface

FileContent::FileContent(Volume& volume, DirtyBudget& budget, InodeNumber inode, std::uint64_t size,
                         std::uint64_t data_bytes)
    : state_(std::make_unique<FileContentState>(volume, budget, inode, size, data_bytes)) {}

FileContent::~FileContent() {
  ContentLock::Exclusive exclusive(state_->lock);
  state_->stream.abandon(exclusive.held());
  state_->dirty.clear();
}

std::uint64_t FileContent::size() const {
  const Held held = state_->lock.hold();
  return state_->view.size();
}

std::uint64_t FileContent::data_bytes() const {
  const Held held = state_->lock.hold();
  std::uint64_t bytes = state_->recipe.data_bytes() + state_->dirty.map().data_bytes();
  bytes -= std::min(bytes, state_->dirty.punched_bytes());
  bytes += state_->stream.pending_bytes();
  return std::min(bytes, state_->view.size());
}

std::uint64_t FileContent::stored_data_bytes() const {
  const Held held = state_->lock.hold();
  return state_->recipe.data_bytes();
}

bool FileContent::dirty() const {
  const Held held = state_->lock.hold();
  return state_->stream.is_open() || !state_->dirty.map().empty();
}

Result<std::vector<PinnedBytes>> FileContent::read(std::uint64_t offset, std::size_t length) {
  const std::uint64_t end = length > kMaxFileBytes - std::min(offset, kMaxFileBytes) ? kMaxFileBytes : offset + length;
  Held held = state_->lock.hold();
  return state_->view.read(held, offset, end);
}

void FileContent::prefetch(std::uint64_t offset, std::uint64_t length) {
  std::vector<ChunkId> wanted;
  {
    const Held held = state_->lock.hold();
    const auto entries = state_->recipe.list(offset, offset + length);
    if (!entries) return;
    for (const PlacedEntry& entry : *entries) {
      if (entry.entry.kind == RecipeEntry::Kind::kChunk) wanted.push_back(entry.entry.chunk);
    }
  }
  state_->volume.chunks().prefetch(std::move(wanted));
}

Result<void> FileContent::write(std::uint64_t offset, ByteSpan bytes, DirtyBudget::Share /*acquired*/) {
  ContentLock::Exclusive exclusive(state_->lock);
  if (offset > kMaxFileBytes || bytes.size() > kMaxFileBytes - offset)
    return Error{ErrorCode::kTooLarge, "write behind the largest offset"};
  if (bytes.empty()) return {};
  return guarded([&] { return state_->write(exclusive.held(), offset, bytes); });
}

Result<void> FileContentState::write(Held& held, std::uint64_t offset, ByteSpan bytes) {
  const std::uint64_t end = std::max(view.size(), offset + bytes.size());
  if (stream.takes(offset)) {
    view.set_size(end);
    stream.append(held, offset, bytes);
    return {};
  }
  dirty.write(offset, bytes);
  view.set_size(end);
  if (const auto start = stream.worthy_start(held)) {
    // If it cannot start, the bytes stay dirty, and the next flush says why.
    (void)stream.start(held, *start);
    return {};
  }
  if (dirty.map().memory_bytes() > kMaxDirtyBytes) return settle(held);
  return {};
}

Result<void> FileContent::truncate(std::uint64_t size) {
  ContentLock::Exclusive exclusive(state_->lock);
  Held& held = exclusive.held();
  if (size > kMaxFileBytes) return Error{ErrorCode::kTooLarge, "size beyond the largest file"};
  if (size >= state_->view.size()) {
    state_->view.set_size(size);
    return {};
  }
  return guarded([&] {
    // Bytes that the stream could not store become dirty, and are cut off like all others.
    (void)state_->stream.end(held);
    return state_->cut_off(held, size);
  });
}

// Short holes wait with the other dirty extents. To cut the content around a single one again takes as long as around many.
Result<void> FileContent::punch(std::uint64_t offset, std::uint64_t length) {
  ContentLock::Exclusive exclusive(state_->lock);
  Held& held = exclusive.held();
  if (offset >= state_->view.size()) return {};
  const std::uint64_t end =
      std::min(state_->view.size(), length > kMaxFileBytes - offset ? kMaxFileBytes : offset + length);
  return guarded([&]() -> Result<void> {
    DEDUPFS_TRY(state_->stream.end(held));
    const bool waits = end - offset <= kMaxWaitingHole;
    std::uint64_t punched = 0;
    if (waits) {
      DEDUPFS_ASSIGN(punched, state_->view.data_bytes_in(held, offset, end));
    }
    state_->dirty.punch(offset, end - offset);
    state_->dirty.note_punched(punched);
    if (waits && state_->dirty.map().memory_bytes() <= kMaxDirtyBytes) return {};
    return state_->flush.run(held);
  });
}

Result<void> FileContent::clone_range(FileContent& from, std::uint64_t from_offset, std::uint64_t offset,
                                      std::uint64_t length) {
  return guarded([&] { return copy_by_reference(*from.state_, from_offset, *state_, offset, length); });
}

// Data and holes have the granularity of blocks: a block that has any data counts as data. Programs that copy files by
// SEEK_DATA and SEEK_HOLE with O_DIRECT can read and write only at block boundaries.
Result<std::uint64_t> FileContent::find_data(std::uint64_t offset) {
  ContentLock::Exclusive exclusive(state_->lock);
  DEDUPFS_TRY(state_->stream.end(exclusive.held()));
  if (offset < state_->view.size()) {
    DEDUPFS_ASSIGN(const std::uint64_t data, state_->view.run_start(exclusive.held(), block_start(offset), false));
    if (data < state_->view.size()) return std::max(offset, block_start(data));
  }
  return Error{ErrorCode::kNoData, "no data behind this offset"};
}

Result<std::uint64_t> FileContent::find_hole(std::uint64_t offset) {
  ContentLock::Exclusive exclusive(state_->lock);
  const Held& held = exclusive.held();
  DEDUPFS_TRY(state_->stream.end(exclusive.held()));
  if (offset >= state_->view.size()) return Error{ErrorCode::kNoData, "offset behind the end of the file"};
  for (std::uint64_t position = block_start(offset);;) {
    DEDUPFS_ASSIGN(const std::uint64_t hole, state_->view.run_start(held, position, true));
    DEDUPFS_ASSIGN(const std::uint64_t end, state_->view.run_start(held, hole, false));
    // The first block that begins in the hole. A file ends within a block or at its end.
    const std::uint64_t block = block_start(hole + (kSeekBlockBytes - 1));
    if (end >= state_->view.size()) return std::max(offset, std::min(block, state_->view.size()));
    if (block + kSeekBlockBytes <= end) return std::max(offset, block);
    position = end;
  }
}

Result<std::uint64_t> FileContent::count_data_bytes(std::uint64_t offset, std::uint64_t length) {
  ContentLock::Exclusive exclusive(state_->lock);
  return guarded([&]() -> Result<std::uint64_t> {
    DEDUPFS_TRY(state_->settle(exclusive.held()));
    const std::uint64_t size = state_->view.size();
    const std::uint64_t end = length > size - std::min(offset, size) ? size : offset + length;
    return offset < end ? state_->view.data_bytes_in(exclusive.held(), offset, end) : 0;
  });
}

Result<void> FileContent::flush() {
  ContentLock::Exclusive exclusive(state_->lock);
  return guarded([&] { return state_->settle(exclusive.held()); });
}

}  // namespace dedupfs
