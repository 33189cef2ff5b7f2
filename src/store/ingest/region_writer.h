// Compresses closed regions and appends them to containers, on threads of its own, with a bound on what waits.
//
// Threads: every function from any thread.
// Failure: a region whose append failed is kept and tried again by retry_failed(); until that has succeeded error()
// says why.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "codec/compression.h"
#include "store/chunks/pending_chunks.h"
#include "store/containers/container_store.h"
#include "store/containers/region_cache.h"

namespace dedupfs {

class RegionWriter {
 public:
  RegionWriter(ContainerStore& containers, PendingChunks& pending, RegionCache& cache, const Compression& compression,
               std::size_t threads, std::uint64_t max_waiting_bytes);

  // Waits while more than that wait, unless writing fails at the moment. Throws nothing.
  void submit(std::shared_ptr<PendingRegion> region);
  // Waits until these regions, which were submitted, are on disk; those that failed are tried once more.
  Result<void> wait_for(const std::vector<std::shared_ptr<PendingRegion>>& regions);
  Result<void> retry_failed();
  std::optional<Error> error() const;
  // Payload bytes that are not on disk yet.
  std::uint64_t waiting_bytes() const;

 private:
  Result<void> write(PendingRegion& region);
  void run(const std::shared_ptr<PendingRegion>& region) noexcept;

  ContainerStore& containers_;
  PendingChunks& pending_;
  RegionCache& cache_;
  const Compression compression_;
  const std::uint64_t max_waiting_bytes_;

  Mutex retry_mutex_;
  mutable Mutex mutex_ DEDUPFS_ACQUIRED_AFTER(retry_mutex_);
  ConditionVariable changed_;
  std::uint64_t waiting_bytes_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<PendingRegion> failed_ DEDUPFS_GUARDED_BY(mutex_);  // the first one; each leads to the next
  std::optional<Error> error_ DEDUPFS_GUARDED_BY(mutex_);
  ThreadPool pool_;  // last: its threads use the rest
};

}  // namespace dedupfs
