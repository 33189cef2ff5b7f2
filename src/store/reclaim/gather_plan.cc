#include "store/reclaim/gather_plan.h"

#include <unordered_set>

#include "store/chunks/chunk_set.h"
#include "store/chunks/extent_finder.h"
#include "store/relocation/erasure.h"
#include "store/relocation/restore_estimate.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kSegmentBytes = 16 << 20;
// A hard disk that reads more slowly than this for a segment is slow.
constexpr double kSlowBytesPerSecond = 100e6;
constexpr double kMinGain = 2;
// After so many segments without one to gather, the rest is taken to be as good.
constexpr int kMaxGoodSegments = 64;
constexpr std::size_t kMaxReadsPerReference = 1 << 10;
constexpr std::size_t kMaxGathered = 8 << 20;  // chunks
constexpr std::uint64_t kReadsBetweenReports = 1 << 10;

class GatherPlanner {
 public:
  GatherPlanner(Volume& volume, std::uint64_t max_disk_bytes)
      : end_of_ids_(volume.chunks().erasure().end_of_ids()),
        max_disk_bytes_(max_disk_bytes),
        extents_(volume.database()),
        needed_before_(ChunkSet::limit_for(volume.database())) {}

  Result<void> read(ChunkId reference) {
    std::vector<ChunkId> wanted{reference};  // the next one last
    for (std::size_t left = kMaxReadsPerReference; !wanted.empty() && left != 0; --left) {
      const ChunkId id = wanted.back();
      wanted.pop_back();
      if (number_of(id) >= end_of_ids_) continue;  // a damaged recipe may name any
      DEDUPFS_ASSIGN(const ChunkExtent* const extent, extents_.find(id));
      if (extent == nullptr) continue;  // not committed
      const ChunkExtent::Chunk& chunk = extent->at(id);
      if (id == reference) segment_.file_bytes += chunk.raw_length;
      note_needed(id, extent->disk_bytes_of(chunk.payload_length()));
      if (estimate_.read(*extent, id)) wanted.insert(wanted.end(), chunk.sources.rbegin(), chunk.sources.rend());
    }
    if (segment_.file_bytes >= kSegmentBytes) end_segment();
    return {};
  }
  bool is_done() const {
    return good_segments_ >= kMaxGoodSegments || plan_.disk_bytes >= max_disk_bytes_ ||
           plan_.order.size() >= kMaxGathered;
  }
  GatherPlan finish() {
    if (!is_done()) end_segment();
    return std::move(plan_);
  }

 private:
  struct Segment {
    std::uint64_t file_bytes = 0;
    std::uint64_t needed_bytes = 0;   // on disk, as the next
    std::uint64_t movable_bytes = 0;  // of these, not needed by a newer segment
    std::vector<ChunkId> movable;
    std::unordered_set<ChunkId> needed;
  };

  void note_needed(ChunkId id, std::uint64_t disk_bytes) {
    if (!segment_.needed.insert(id).second) return;
    segment_.needed_bytes += disk_bytes;
    if (needed_before_.contains(id)) return;
    segment_.movable_bytes += disk_bytes;
    segment_.movable.push_back(id);
  }

  void end_segment() {
    const double seconds_now = estimate_.seconds(kHardDisk);
    if (is_worth_it(seconds_now - seconds_before_)) {
      good_segments_ = 0;
      plan_.disk_bytes += segment_.movable_bytes;
      plan_.order.insert(plan_.order.end(), segment_.movable.begin(), segment_.movable.end());
    } else {
      ++good_segments_;
    }
    seconds_before_ = seconds_now;
    for (const ChunkId id : segment_.movable) (void)needed_before_.insert(id);
    segment_ = {};
  }

  bool is_worth_it(double seconds) const {
    const double gathered =
        kHardDisk.seek_seconds + static_cast<double>(segment_.needed_bytes) / kHardDisk.bytes_per_second;
    return seconds * kSlowBytesPerSecond > static_cast<double>(segment_.file_bytes) && seconds > kMinGain * gathered &&
           segment_.movable_bytes * 2 > segment_.needed_bytes &&
           plan_.disk_bytes + segment_.movable_bytes <= max_disk_bytes_;
  }

  const std::uint64_t end_of_ids_;
  const std::uint64_t max_disk_bytes_;
  ExtentFinder extents_;
  ChunkSet needed_before_;
  RestoreEstimate estimate_;
  double seconds_before_ = 0;
  Segment segment_;
  int good_segments_ = 0;
  GatherPlan plan_;
};

}  // namespace

Result<GatherPlan> plan_gathering(Volume& volume, const ReclaimHost& host, std::uint64_t max_disk_bytes,
                                  const std::function<Result<void>()>& report) {
  GatherPlanner planner(volume, max_disk_bytes);
  std::uint64_t references = 0;
  Result<void> visited;
  DEDUPFS_TRY(host.newest_references(
      [&](ChunkId id) {
        visited = planner.read(id);
        if (visited && references++ % kReadsBetweenReports == 0) visited = report();
        return visited.has_value() && !planner.is_done();
      },
      report));
  DEDUPFS_TRY(visited);
  return planner.finish();
}

}  // namespace dedupfs
