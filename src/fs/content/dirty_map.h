// The extents of a file that were overwritten and are not yet in its recipe: bytes, or holes that were punched. Later changes
// win over earlier ones. Extents never overlap. Adjacent small writes are joined, so that a run of 4 KiB writes does not cost
// an entry for each write.
//
// Threads:   one user at a time (its FileContent's lock).
// Ownership: owns copies of the bytes.
// Failure:   a change that throws (std::bad_alloc) has changed nothing. One exception: a failed write may have replaced older
//            dirty bytes by its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.h"

namespace dedupfs {

class DirtyMap {
 public:
  struct Extent {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    ByteSpan bytes;  // of `length`; empty for a hole. Valid until the next change of the map.

    bool is_hole() const { return bytes.empty(); }
    std::uint64_t end() const { return offset + length; }
  };

  // The memory of an extent beside its bytes: the node of the map, and the overhead of the allocator for both.
  static constexpr std::uint64_t kExtentNodeBytes = 128;

  void write(std::uint64_t offset, ByteSpan bytes);
  void punch(std::uint64_t offset, std::uint64_t length);
  void erase(std::uint64_t offset, std::uint64_t length);  // forgets; the recipe shows through again
  void truncate(std::uint64_t size);                       // forgets everything from `size` on
  void clear();

  bool empty() const { return extents_.empty(); }
  // The first extent that ends after `offset`, clipped to start at `offset` or later.
  std::optional<Extent> find_from(std::uint64_t offset) const;
  // The extents that overlap [from, to), clipped to it, in order.
  std::vector<Extent> list(std::uint64_t from, std::uint64_t to) const;
  std::uint64_t end() const;                                // the end of the last extent; 0 if there is none
  std::uint64_t data_bytes() const { return data_bytes_; }  // of all extents but holes
  std::uint64_t memory_bytes() const;                       // of all extents and their buffers

 private:
  struct DirtyExtent {
    std::uint64_t length = 0;
    ByteBuffer bytes;         // empty: hole
    std::size_t skipped = 0;  // bytes at the front that were dropped

    bool is_hole() const { return bytes.empty(); }
    ByteSpan view() const { return ByteSpan(bytes).subspan(skipped); }
    void drop_front(std::uint64_t count);
    void drop_back(std::uint64_t count);
    void shrink();
  };
  using DirtyExtents = std::map<std::uint64_t, DirtyExtent>;  // by offset

  DirtyExtents::iterator first_ending_after(std::uint64_t offset);
  DirtyExtents::const_iterator first_ending_after(std::uint64_t offset) const;
  ByteSpan overwrite_last(std::uint64_t offset, ByteSpan bytes);
  bool join_previous(std::uint64_t offset, ByteSpan bytes);
  void clear_range(std::uint64_t from, std::uint64_t to);
  template <class Change>
  void resize(DirtyExtent& extent, const Change& change);

  DirtyExtents extents_;
  std::uint64_t data_bytes_ = 0;
  std::uint64_t capacity_bytes_ = 0;  // of all buffers
};

}  // namespace dedupfs
