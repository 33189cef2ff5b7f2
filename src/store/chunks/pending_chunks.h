// The chunks of the transaction groups that are not committed yet. Look-ups and reads must find them before the database has
// them. There are two generations, the open group and the frozen one, as in Metadata.
//
// Threads: every function from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "index/database.h"
#include "store/chunks/chunk_index.h"
#include "store/format/region.h"
#include "store/format/types.h"

namespace dedupfs {

// A region between its first chunk and its commit. A packer fills it, then it is written.
struct PendingRegion {
  std::shared_ptr<Region> region;              // in memory until it is on disk, then empty
  std::vector<ChunkExtent> extents;            // places are filled in when it is on disk
  std::vector<ChunkExtent> moved;              // the same, of chunks that the index has elsewhere
  std::vector<ChunkExtent> renewed;            // the same, of chunks whose bytes were lost, and came again
  std::uint32_t used_bytes = 0;                // of the payload
  std::optional<RegionRange> range;            // on disk
  bool attempted = false;                      // was written, or failed to be; guarded by the RegionWriter's lock
  std::shared_ptr<PendingRegion> next_failed;  // the list of those that failed needs no memory; guarded by the same
};

// Consecutive chunks that nobody refers to. Their fingerprints go with them: one that leads nowhere would make new content a
// reference to nothing.
struct ErasedChunks {
  ChunkId first{};
  std::vector<Fingerprint> fingerprints;  // of each
};

class PendingChunks {
 public:
  // The place of a pending chunk: in memory, or on disk.
  struct Location {
    std::shared_ptr<const Region> region;  // null: on disk in `range`
    RegionEntry entry;
    RegionRange range;
  };

  std::optional<ChunkId> find(const Fingerprint& fingerprint) const;
  std::optional<Location> locate(ChunkId id) const;
  bool contains(ChunkId id) const;  // what locate() finds, without a copy

  // Makes the last entry of `region` known; or, if its fingerprint is known already, returns that chunk's id and
  // changes nothing.
  std::optional<ChunkId> publish(const RegionEntry& entry, const std::shared_ptr<PendingRegion>& region);
  // The same for a chunk that moves. Look-ups of its content find it as before. False: it is here already.
  bool publish_moved(const RegionEntry& entry, const std::shared_ptr<PendingRegion>& region);
  void erase(ErasedChunks chunks);
  // The container is removed when the group is committed: nothing refers to it then.
  void abandon_container(std::uint32_t number);
  // A region is complete and will be written: it belongs to the open group.
  void add_region(std::shared_ptr<PendingRegion> region);
  // It is on disk: its memory is given up.
  void mark_written(PendingRegion& region, RegionPlace place, std::uint32_t disk_bytes);

  bool all_written(const std::vector<std::shared_ptr<PendingRegion>>& regions) const;

  // Only the caller of freeze() and drop_frozen() looks at the frozen group.
  void freeze();
  const std::vector<std::shared_ptr<PendingRegion>>& frozen_regions() const { return frozen_for_its_owner().regions; }
  // Index entries of the frozen group, whose regions must all be on disk.
  Result<void> append_frozen_to(Database::Batch& batch, const Database& database) const;
  std::vector<ChunkId> frozen_renewed() const;  // those whose bytes came again
  const std::vector<ErasedChunks>& frozen_erased() const { return frozen_for_its_owner().erased; }
  const std::vector<std::uint32_t>& frozen_abandoned() const { return frozen_for_its_owner().abandoned; }
  void drop_frozen();

  bool open_is_empty() const;
  std::size_t open_bytes() const;

 private:
  struct Group {
    struct Chunk {
      std::shared_ptr<PendingRegion> region;
      RegionEntry entry;  // of its own: the region's list of them grows while others read
    };

    std::unordered_map<Fingerprint, ChunkId> ids;
    std::unordered_map<std::uint64_t, Chunk> chunks;  // by number of the id
    std::vector<std::shared_ptr<PendingRegion>> regions;
    std::vector<ErasedChunks> erased;
    std::vector<std::uint32_t> abandoned;  // containers
  };

  // Needs no lock: only the thread that froze the group changes what these readers look at.
  const Group& frozen_for_its_owner() const DEDUPFS_NO_THREAD_SAFETY_ANALYSIS { return frozen_; }

  mutable SharedMutex mutex_;
  Group open_ DEDUPFS_GUARDED_BY(mutex_);
  Group frozen_ DEDUPFS_GUARDED_BY(mutex_);
};

}  // namespace dedupfs
