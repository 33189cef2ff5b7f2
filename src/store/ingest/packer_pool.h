// The packers of all streams. A stream takes one, and gives it back with its open region: the next stream goes on filling that.
//
// Threads:   every function from any thread. A lease is used by one thread at a time.
// Ownership: the pool owns the packers and outlives its leases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "store/chunks/pending_chunks.h"
#include "store/ingest/region_packer.h"

namespace dedupfs {

class PackerPool {
 public:
  // The packer of one stream, until the lease ends.
  class Lease {
   public:
    explicit Lease(PackerPool& pool) : pool_(&pool), packer_(pool.take()) {}
    ~Lease() { pool_->give_back(packer_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    RegionPacker& operator*() const { return *packer_; }
    RegionPacker* operator->() const { return packer_; }

   private:
    PackerPool* const pool_;
    RegionPacker* const packer_;
  };

  // Regions that are full or closed go to `closed`, which must not throw.
  PackerPool(PendingChunks& pending, ChunkIdAllocator& ids, std::uint32_t region_bytes, RegionPacker::Closed closed);

  // Closes the open regions of all packers. No packer may be in use.
  void close_all();

 private:
  RegionPacker* take();
  void give_back(RegionPacker* packer) noexcept;

  PendingChunks& pending_;
  ChunkIdAllocator& ids_;
  const std::uint32_t region_bytes_;
  const RegionPacker::Closed closed_;

  Mutex mutex_;
  std::vector<std::unique_ptr<RegionPacker>> packers_ DEDUPFS_GUARDED_BY(mutex_);
  std::vector<RegionPacker*> free_ DEDUPFS_GUARDED_BY(mutex_);
};

}  // namespace dedupfs
