// Finds extents of the chunk index for a caller that asks for many of them, mostly near to each other. It keeps found extents for
// a while.
//
// Threads:   one user at a time.
// Ownership: the database must outlive it.
// Failure:   as find_extent() does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/result.h"
#include "index/database.h"
#include "store/chunks/chunk_index.h"

namespace dedupfs {

// Of ChunkExtents; or of ExtentFronts, for a caller that only asks for places: to decode all chunks of an extent for that would
// take a hundred times as long.
template <typename Extent>
class BasicExtentFinder {
 public:
  explicit BasicExtentFinder(const Database& database) : database_(database) {}

  // The extent that has the chunk, as it was when it was found: it may have changed since. Null: none has it. Valid until the
  // next call.
  Result<const Extent*> find(ChunkId id);
  void forget_all();

 private:
  static constexpr std::size_t kMaxHeld = 1 << 17;  // chunks and extents, some 10 MB

  Result<void> note_gap(ChunkId id);

  const Database& database_;
  std::map<ChunkId, Extent> extents_;  // by their first
  std::size_t held_ = 0;
  // No extent has these. To ask the database for each chunk that was erased would lead it over the tombstones
  // beside it, each time.
  std::uint64_t gap_begin_ = 0;
  std::uint64_t gap_end_ = 0;
};

using ExtentFinder = BasicExtentFinder<ChunkExtent>;
using PlaceFinder = BasicExtentFinder<ExtentFront>;

}  // namespace dedupfs
