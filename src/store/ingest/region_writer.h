// Compresses closed regions and appends them to containers, on threads of its own, with a bound on what waits. It decides how
// much effort each region is worth, and so which tier of containers it goes to (docs/settling.md):
//
//   new chunks   quickly, to be settled later; for good if they arrive slowly, or if nothing makes them smaller
//   moved ones   for good, beside the new ones, by threads of low priority: nobody waits for them
//
// Regions of a kind are appended in the order in which they were submitted, so that who reads a file from a disk need not go back
// and forth. Several threads compress them, and each waits with the append until the regions before its own are done.
//
// Threads: every function from any thread.
// Failure: a region whose append failed is kept and tried again by retry_failed(); until that has succeeded error()
// says why. Regions of moved chunks that come meanwhile are not tried before: they are no loss.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/meter.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "codec/compression.h"
#include "store/chunks/pending_chunks.h"
#include "store/containers/container_store.h"
#include "store/containers/region_cache.h"
#include "store/ingest/arrival_rate.h"
#include "store/ingest/ingest_meter.h"

namespace dedupfs {

class RegionWriter {
 public:
  struct Settings {
    CompressionTiers compression;
    std::size_t threads = 0;              // for new chunks, and as many for moved ones
    std::uint64_t max_waiting_bytes = 0;  // of new chunks; of moved ones, a fourth
    std::uint64_t slow_bytes = ArrivalRate::kSlowBytes;
    // Whether more data waits than the stages before this one get done: then no source is slow, whatever arrives here.
    std::function<bool()> are_others_behind = [] { return false; };
    std::function<ArrivalRate::Clock::time_point()> now = ArrivalRate::Clock::now;
  };

  RegionWriter(ContainerStore& containers, PendingChunks& pending, RegionCache& cache, IngestMeter& meter,
               Settings settings);

  // Waits while too many bytes of its kind wait, unless writing fails at the moment. Throws nothing.
  void submit(std::shared_ptr<PendingRegion> region);
  // Waits until these regions, which were submitted, are on disk; those that failed are tried once more.
  Result<void> wait_for(const std::vector<std::shared_ptr<PendingRegion>>& regions);
  Result<void> retry_failed();
  std::optional<Error> error() const;
  // Payload bytes that are not on disk yet.
  std::uint64_t waiting_bytes() const;
  // The times that submit() waited with new chunks.
  WorkMeter::Reading waits() const { return waits_.read(); }
  // All bytes that regions of moved chunks took on disk.
  std::uint64_t moved_disk_bytes() const { return moved_disk_bytes_; }

 private:
  enum class Effort : std::uint8_t { kQuick, kStrong };
  // The regions of new chunks, or of moved ones.
  struct Lane {
    std::uint64_t max_waiting_bytes = 0;
    std::uint64_t waiting_bytes = 0;
    std::uint64_t submitted = 0;  // regions
    std::uint64_t done = 0;       // written, or failed to be
  };
  // A region that was submitted, and its place in the line.
  struct Job {
    std::shared_ptr<PendingRegion> region;
    Effort effort = Effort::kQuick;
    Lane* lane = nullptr;
    std::uint64_t before = 0;  // regions that were submitted before it
  };

  void await_room(const Lane& lane, bool moved) DEDUPFS_REQUIRES(mutex_);
  // For a region that has come just now.
  Effort effort_for(const PendingRegion& region) DEDUPFS_REQUIRES(mutex_);
  // Whether the regions of new chunks that came before are nearly done.
  bool keeps_up() const DEDUPFS_REQUIRES(mutex_);
  // The least effort for it, whatever the source: that of one that failed.
  Effort least_effort_for(const PendingRegion& region) const;
  void run(const Job& job) noexcept;
  Result<void> encode_and_append(const Job& job);
  void wait_for_turn(const Job& job) DEDUPFS_EXCLUDES(mutex_);
  Result<void> write(PendingRegion& region, Effort effort);
  Result<std::string> encode(const PendingRegion& region, Effort effort) const;
  Result<void> append(PendingRegion& region, Effort effort, const std::string& encoded);

  ContainerStore& containers_;
  PendingChunks& pending_;
  RegionCache& cache_;
  IngestMeter& meter_;
  const Settings settings_;

  Mutex retry_mutex_;
  mutable Mutex mutex_ DEDUPFS_ACQUIRED_AFTER(retry_mutex_);
  ConditionVariable changed_;
  Lane new_ DEDUPFS_GUARDED_BY(mutex_);
  Lane moved_ DEDUPFS_GUARDED_BY(mutex_);
  ArrivalRate arrivals_ DEDUPFS_GUARDED_BY(mutex_);
  std::shared_ptr<PendingRegion> failed_ DEDUPFS_GUARDED_BY(mutex_);  // the first one; each leads to the next
  std::optional<Error> error_ DEDUPFS_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> moved_disk_bytes_ = 0;
  WorkMeter waits_;
  // Last: their threads use the rest.
  ThreadPool new_pool_;
  ThreadPool moved_pool_;
};

}  // namespace dedupfs
