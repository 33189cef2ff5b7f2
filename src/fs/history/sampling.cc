#include "fs/history/sampling.h"

#include <optional>

#include "fs/statistics/statistics.h"
#include "store/chunks/extent_finder.h"
#include "store/relocation/restore_estimate.h"

namespace dedupfs {
namespace {

HistorySample::Counts counts_of(const Statistics& statistics) {
  return {.files = statistics.files,
          .logical = statistics.logical_bytes,
          .unique = statistics.unique_bytes,
          .after_delta = statistics.after_delta_bytes,
          .stored = statistics.stored_bytes,
          .kept = statistics.snapshot_only_bytes + statistics.base_only_bytes,
          .garbage = statistics.garbage_bytes};
}

// The speed of reading the newest files. None: they have no chunks.
class NewestFiles {
 public:
  NewestFiles(const Database& database, const GoOn& go_on) : extents_(database), go_on_(go_on) {}

  Result<std::optional<HistorySample::RestoreSpeed>> speed(const VisitNewest& visit_newest) {
    Result<void> outcome;
    DEDUPFS_TRY(visit_newest(
        [&](ChunkId id) {
          outcome = add(id);
          return outcome && bytes_ < kNewestBytes;
        },
        go_on_));
    DEDUPFS_TRY(outcome);
    if (bytes_ == 0) return std::optional<HistorySample::RestoreSpeed>();
    const auto speed_from = [&](const DiskModel& disk) {
      return static_cast<std::uint64_t>(static_cast<double>(bytes_) / estimate_.seconds(disk));
    };
    return std::optional<HistorySample::RestoreSpeed>({.hard_disk = speed_from(kHardDisk), .ssd = speed_from(kSsd)});
  }

 private:
  Result<void> add(ChunkId id) {
    if (++references_ % kBetweenQuestions == 0) DEDUPFS_TRY(go_on_());
    DEDUPFS_ASSIGN(const ChunkExtent* const extent, extents_.find(id));
    if (extent == nullptr) return {};  // it was lost, or a reclaim has just erased it
    bytes_ += extent->at(id).raw_length;
    return estimate_reading(extents_, id, estimate_);
  }

  static constexpr std::uint64_t kBetweenQuestions = 1024;

  ExtentFinder extents_;
  const GoOn& go_on_;
  RestoreEstimate estimate_;
  std::uint64_t references_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Result<HistorySample> sample_without_counts(const Volume& volume, std::int64_t unix_seconds, const GoOn& go_on) {
  HistorySample sample;
  sample.unix_seconds = unix_seconds;
  DEDUPFS_ASSIGN(sample.disk_bytes, disk_bytes_of(volume, go_on));
  return sample;
}

Result<HistorySample> take_sample(Volume& volume, std::int64_t unix_seconds, const VisitNewest& visit_newest,
                                  const GoOn& go_on) {
  DEDUPFS_ASSIGN(const Statistics statistics, compute_statistics(volume, go_on));
  HistorySample sample;
  sample.unix_seconds = unix_seconds;
  sample.disk_bytes = statistics.disk_bytes;
  sample.counts = counts_of(statistics);
  DEDUPFS_ASSIGN(sample.restore, NewestFiles(volume.database(), go_on).speed(visit_newest));
  return sample;
}

}  // namespace dedupfs
