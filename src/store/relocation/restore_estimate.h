// The time to read chunks one after another from a disk. It is a model, so that volumes and generations can be compared on any
// disk, with any state of its cache.
//
//   seconds = max(jumps * seek + read bytes / rate of the disk, decoded bytes / kDecodedBytesPerSecond)
//
// Regions are read whole, in the order in which their first chunks are needed. They stay in a cache of kCacheBytes; the least
// recently used go first. A read is a jump if the region does not lie behind the one read before it. A short gap between the two
// is read, too. Reading and decoding go on side by side.
//
// Threads: one user at a time.
// Memory:  about 100 bytes for each region in the cache.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/chunks/chunk_index.h"
#include "store/chunks/extent_finder.h"
#include "store/format/types.h"
#include "store/relocation/recently_used.h"

namespace dedupfs {

struct DiskModel {
  double seek_seconds = 0;
  double bytes_per_second = 0;
};
inline constexpr DiskModel kHardDisk{.seek_seconds = 0.010,
                                     .bytes_per_second = 150e6};                     // 7200/min: seek and half a turn
inline constexpr DiskModel kSsd{.seek_seconds = 0.0001, .bytes_per_second = 500e6};  // SATA

class RestoreEstimate {
 public:
  static constexpr double kDecodedBytesPerSecond = 1e9;
  static constexpr std::uint64_t kCacheBytes = 192 << 20;  // of -o cache=256m, what regions get
  static constexpr std::uint64_t kDecodedCacheBytes = 64 << 20;
  static constexpr std::uint64_t kShortGapBytes = 1 << 20;

  // Reads the chunk at the place in the extent. True: it is a delta, and its sources are read next.
  bool read(const ChunkExtent& extent, ChunkId id);

  std::uint64_t regions_read() const { return regions_read_; }
  std::uint64_t jumps() const { return jumps_; }
  std::uint64_t read_bytes() const { return read_bytes_; }  // from the disk
  double seconds(const DiskModel& disk) const;

 private:
  void read_region(const ChunkExtent& extent);

  RecentlyUsed<RegionPlace> regions_{kCacheBytes};
  RecentlyUsed<std::uint64_t> decoded_{kDecodedCacheBytes};
  RegionPlace end_{};  // of the region that was read last
  std::uint64_t regions_read_ = 0;
  std::uint64_t jumps_ = 0;
  std::uint64_t read_bytes_ = 0;
  std::uint64_t decoded_bytes_ = 0;
};

// Reads the chunk, and all that it is made from, at whatever depth. kCorruption, and it names the chunk, if the index has not got one.
Result<void> estimate_reading(ExtentFinder& extents, ChunkId chunk, RestoreEstimate& estimate);
// For others who follow the references of files, too.
Error chunk_not_in_index(ChunkId id);

}  // namespace dedupfs
