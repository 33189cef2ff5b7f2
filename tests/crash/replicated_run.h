// A recorded run whose volume is replicated to a bucket that fails now and then: which states of the tree the bucket alone may give at each
// moment.
//
// Failure: what does not go as it must goes to problems().
// Threads: one at a time. The bucket is used from other threads meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "crash/recorded_run.h"
#include "replica/background/background_shipper.h"
#include "support/memory_bucket.h"

namespace dedupfs {

// A volume that has a bucket, and that bucket.
struct AttachedVolume {
  DiskImage disk;
  MemoryObjects::Image objects;
};
AttachedVolume attach(const DiskImage& volume);

// Containers stay on the disk, or go as soon as the bucket has them.
enum class Eviction { kNone, kAll };

// As a mount has it, over a bucket with those objects. It ships when it is asked. `parallel`: requests at once.
Result<std::unique_ptr<BackgroundShipper>> start_shipper(Filesystem& filesystem,
                                                         const std::shared_ptr<MemoryBucket>& bucket, Eviction eviction,
                                                         std::size_t parallel = 1);
// RunOptions::seen_through of a volume with containers in such a bucket.
std::shared_ptr<Backing> evicting(const std::shared_ptr<MemoryDisk>& disk,
                                  const std::shared_ptr<MemoryObjects>& objects);

class ReplicatedRun final : public RunCompanion {
 public:
  // After each change of the bucket, and when a ship has returned.
  struct Moment {
    MemoryObjects::Image objects;
    std::size_t events;  // on the disk
    bool has_head;       // a ship has succeeded: there is something to restore
    History::Range allowed;
  };

  // `faults`: operations of the bucket fail, or are done without an answer, twice or too late.
  ReplicatedRun(std::uint64_t seed, const AttachedVolume& volume, bool faults, Eviction eviction);

  RunOptions options();
  const std::vector<Moment>& moments() const { return moments_; }
  const std::vector<std::string>& problems() const { return problems_; }

  void opened(RecordedRun& run) override;
  void acknowledged(RecordedRun& run) override;
  void closing() override;

 private:
  void ship();
  void note_moment();

  const bool faults_;
  const Eviction eviction_;
  const std::shared_ptr<MemoryObjects> objects_;
  const std::shared_ptr<MemoryBucket> bucket_;
  RecordedRun* run_ = nullptr;
  std::unique_ptr<BackgroundShipper> shipper_;
  std::mt19937_64 random_;

  std::mutex mutex_;  // of the rest, while the bucket is used
  std::mt19937_64 fault_random_;
  std::size_t durable_state_ = 0;  // the last of which we know that the volume has it
  std::size_t shipped_state_ = 0;  // and the bucket
  bool has_head_ = false;
  std::vector<Moment> moments_;
  std::vector<std::string> problems_;
};

}  // namespace dedupfs
