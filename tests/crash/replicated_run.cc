#include "crash/replicated_run.h"

#include <array>
#include <utility>

#include "base/check.h"
#include "replica/eviction/evicting_disk.h"
#include "replica/remote_file.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kOneOf = 15;  // operations fails

OpenBucket opens(const std::shared_ptr<MemoryBucket>& bucket) {
  return [bucket](const RemoteAddress&, const GoOn&) -> Result<std::unique_ptr<Bucket>> {
    return std::make_unique<SameBucket>(*bucket);
  };
}

}  // namespace

AttachedVolume attach(const DiskImage& volume) {
  const auto disk = std::make_shared<MemoryDisk>(volume);
  MemoryBucket bucket;
  const auto opened = open_filesystem(disk);
  DEDUPFS_CHECK(opened.has_value());
  RemoteRecord record{
      .volume = (*opened)->volume().superblock().uuid, .where = {.address = "s3://bucket"}, .position = {}};
  DEDUPFS_CHECK((*opened)->close().has_value());
  record.position = Shipper::attach(bucket, "test").value();
  DEDUPFS_CHECK(save_remote_record(*disk->open_root(kVolumePath).value(), record).has_value());
  return {disk->image(), bucket.objects().image()};
}

Result<std::unique_ptr<BackgroundShipper>> start_shipper(Filesystem& filesystem,
                                                         const std::shared_ptr<MemoryBucket>& bucket, Eviction eviction,
                                                         std::size_t parallel) {
  return BackgroundShipper::start(filesystem.volume(), [&filesystem] { return filesystem.sync_what_fits(); },
                                  {.lag = {},
                                   .grace = {},
                                   .between_collections = {},
                                   .cache_bytes = eviction == Eviction::kAll ? 1U : 0U,
                                   .parallel = {.requests = parallel},
                                   .open = opens(bucket)});
}

std::shared_ptr<Backing> evicting(const std::shared_ptr<MemoryDisk>& disk,
                                  const std::shared_ptr<MemoryObjects>& objects) {
  return std::make_shared<EvictingDisk>(disk, opens(std::make_shared<MemoryBucket>(objects)));
}

ReplicatedRun::ReplicatedRun(std::uint64_t seed, const AttachedVolume& volume, bool faults, Eviction eviction)
    : faults_(faults),
      eviction_(eviction),
      objects_(std::make_shared<MemoryObjects>(volume.objects)),
      bucket_(std::make_shared<MemoryBucket>(objects_)),
      random_(seed),
      fault_random_(seed) {
  bucket_->set_hook([this](const MemoryBucket::Call& call, MemoryBucket::When when) {
    using enum MemoryBucket::Operation;
    if (when != MemoryBucket::When::kAfter || (call.operation != kPut && call.operation != kRemove)) return;
    const std::lock_guard lock(mutex_);
    note_moment();
  });
  if (!faults_) return;
  bucket_->set_fault([this](const MemoryBucket::Call&) {
    using enum MemoryBucket::Fault;
    const std::lock_guard lock(mutex_);
    if (fault_random_() % kOneOf != 0) return kNone;
    constexpr std::array kFaults{kFails, kAnswerLost, kDoneTwice, kDoneLater};
    return kFaults.at(fault_random_() % kFaults.size());
  });
}

RunOptions ReplicatedRun::options() {
  RunOptions options{.companion = this};
  // What reads is not told to fail: a file that cannot be read is no loss, and other tests have it.
  options.seen_through = [objects = objects_](const std::shared_ptr<MemoryDisk>& disk) {
    return evicting(disk, objects);
  };
  return options;
}

void ReplicatedRun::note_moment() {
  moments_.push_back({.objects = objects_->image(),
                      .events = run_->disk().event_count(),
                      .has_head = has_head_,
                      .allowed = {.first = shipped_state_, .last = run_->history().states.size() - 1}});
}

void ReplicatedRun::opened(RecordedRun& run) {
  run_ = &run;
  auto shipper = start_shipper(run.filesystem(), bucket_, eviction_, 1 + random_() % 4);
  if (!shipper || *shipper == nullptr) {
    problems_.push_back("the shipper does not start: " + (shipper ? "it has no bucket" : shipper.error().message()));
    throw RunEnded();
  }
  shipper_ = std::move(*shipper);
}

void ReplicatedRun::acknowledged(RecordedRun& run) {
  durable_state_ = run.history().states.size() - 1;
  if (random_() % 2 == 0) ship();
}

void ReplicatedRun::closing() {
  if (random_() % 2 == 0) ship();
  shipper_.reset();
}

void ReplicatedRun::ship() {
  if (!shipper_) return;
  const auto shipped = shipper_->ship_now([]() -> Result<void> { return {}; });
  const std::lock_guard lock(mutex_);
  if (shipped) {
    shipped_state_ = durable_state_;
    has_head_ = true;
    note_moment();
  } else if (shipped.error().code() == kFenced || (!faults_ && shipped.error().code() != ErrorCode::kNoSpace)) {
    problems_.push_back("shipping failed: " + shipped.error().message());
  }
  if (random_() % 3 == 0) bucket_->land();
}

}  // namespace dedupfs
