// The content of a file, as all readers see it. Dirty extents lie over the stream at the end, which lies over the recipe, up to
// the size. Every read of a file goes through this view.
//
// Threads:   with the ContentLock held; `held` proves it.
// Ownership: the chunk store, the layers and the shown stream must outlive it.
// Failure:   kCorruption names the inode and the offset.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "fs/content/content_lock.h"
#include "fs/content/counted_recipe.h"
#include "fs/content/dirty_layer.h"
#include "fs/content/write_stream.h"
#include "fs/format/types.h"

namespace dedupfs {

inline constexpr std::array<std::uint8_t, 64 * 1024> kZeros{};

class ContentView {
 public:
  using Held = ContentLock::Held;
  // The content at some offset: its source, and its length from there on.
  struct Span {
    enum class Source { kHole, kDirty, kStream, kRecipe } source = Source::kHole;
    std::uint64_t length = 0;
    DirtyMap::Extent dirty;
    WriteStream::Part stream;
    PlacedEntry entry;

    bool is_hole() const { return source == Source::kHole; }
  };

  ContentView(ChunkStore& chunks, InodeNumber inode, CountedRecipe& recipe, const DirtyLayer& dirty, std::uint64_t size)
      : chunks_(chunks), inode_(inode), recipe_(recipe), dirty_(dirty), size_(size) {}

  std::uint64_t size() const { return size_; }
  void set_size(std::uint64_t size) { size_ = size; }
  // Sets the stream that lies over the recipe from now on; null: none.
  void show_stream(const WriteStream* stream) { stream_ = stream; }

  Result<Span> at(const Held& held, std::uint64_t offset);
  // With `of_hole`, the first byte at or behind `from` that is in a hole; otherwise the first one that is not. The size if
  // there is none.
  Result<std::uint64_t> run_start(const Held& held, std::uint64_t from, bool of_hole);
  // The bytes of the range that come from chunks or inline entries of the recipe, without a later change.
  Result<std::uint64_t> data_bytes_in(const Held& held, std::uint64_t from, std::uint64_t to);

  // The bytes of [from, to), as far as the file goes, as pieces of shared memory in order. Both functions release the lock
  // before they fetch chunks. read() may return without it, read_and_lock() returns with it.
  Result<std::vector<PinnedBytes>> read(Held& held, std::uint64_t from, std::uint64_t to);
  Result<std::vector<PinnedBytes>> read_and_lock(Held& held, std::uint64_t from, std::uint64_t to);

 private:
  // Bytes in memory, or the chunk that has them.
  struct Fetch {
    PinnedBytes bytes;
    std::optional<ChunkId> chunk;
    std::uint64_t skip = 0;  // of the chunk
    std::uint64_t length = 0;
    std::uint64_t offset = 0;
  };

  Result<std::vector<Fetch>> gather(const Held& held, std::uint64_t from, std::uint64_t to);
  Result<std::vector<PinnedBytes>> fetch(const std::vector<Fetch>& wanted) const;  // without the lock

  ChunkStore& chunks_;
  const InodeNumber inode_;
  CountedRecipe& recipe_;
  const DirtyLayer& dirty_;
  const WriteStream* stream_ = nullptr;
  std::uint64_t size_;
};

}  // namespace dedupfs
