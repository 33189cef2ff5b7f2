#include "store/ingest/region_writer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/guarded.h"

namespace dedupfs {

namespace {

// The share of the waiting bytes that moved chunks may have: a commit waits for them.
constexpr std::uint64_t kMovedPart = 4;
// So many new regions for each thread may wait when one comes that is to be compressed strongly.
constexpr std::uint64_t kMaxAheadOfStrong = 2;

bool all_moved(const PendingRegion& region) {
  return region.extents.empty() && region.renewed.empty();
}

}  // namespace

RegionWriter::RegionWriter(ContainerStore& containers, PendingChunks& pending, RegionCache& cache, IngestMeter& meter,
                           Settings settings)
    : containers_(containers),
      pending_(pending),
      cache_(cache),
      meter_(meter),
      settings_(std::move(settings)),
      new_{.max_waiting_bytes = settings_.max_waiting_bytes},
      moved_{.max_waiting_bytes = std::max<std::uint64_t>(1, settings_.max_waiting_bytes / kMovedPart)},
      arrivals_(settings_.slow_bytes),
      new_pool_(settings_.threads, "region-writer"),
      moved_pool_(settings_.threads, "settler", ThreadPool::Priority::kLow) {}

// Whose turn comes first is also first in the queue of the pool. So the region that all others wait for is never behind them.
void RegionWriter::submit(std::shared_ptr<PendingRegion> region) {
  const bool moved = all_moved(*region);
  Job job;
  {
    const MutexLock lock(mutex_);
    Lane& lane = moved ? moved_ : new_;
    await_room(lane, moved);
    lane.waiting_bytes += region->used_bytes;
    job = {.effort = effort_for(*region), .lane = &lane, .before = lane.submitted++};
    job.region = std::move(region);
    ThreadPool& pool = moved ? moved_pool_ : new_pool_;
    if (survive("writing a region beside others", [&] { pool.submit([this, job] { run(job); }); })) return;
  }
  run(job);
}

void RegionWriter::await_room(const Lane& lane, bool moved) {
  const auto has_room = [&]()
                            DEDUPFS_REQUIRES(mutex_) { return lane.waiting_bytes < lane.max_waiting_bytes || error_; };
  if (has_room()) return;
  const auto began = MeterClock::now();
  changed_.wait(mutex_, has_room);
  if (moved) return;
  waits_.add(0, MeterClock::now() - began);
  arrivals_.note_wait(settings_.now());
}

RegionWriter::Effort RegionWriter::effort_for(const PendingRegion& region) {
  const Effort least = least_effort_for(region);
  if (least == Effort::kStrong) return least;
  const auto now = settings_.now();
  if (!arrivals_.is_slow_after(region.used_bytes, now)) return least;
  if (keeps_up() && !settings_.are_others_behind()) return Effort::kStrong;
  // Not only this region: what goes to the containers of one tier and of the other by turns is read in many pieces.
  arrivals_.note_wait(now);
  return least;
}

// A level that is too strong for the source would make that wait, and then the source would look slow.
bool RegionWriter::keeps_up() const {
  return new_.submitted - new_.done <= kMaxAheadOfStrong * settings_.threads;
}

RegionWriter::Effort RegionWriter::least_effort_for(const PendingRegion& region) const {
  return all_moved(region) || settings_.compression.are_one() ? Effort::kStrong : Effort::kQuick;
}

void RegionWriter::run(const Job& job) noexcept {
  PendingRegion& region = *job.region;
  const std::uint32_t bytes = region.used_bytes;
  auto written = guarded([&] { return encode_and_append(job); });
  {
    const MutexLock lock(mutex_);
    job.lane->waiting_bytes -= bytes;
    ++job.lane->done;
    region.attempted = true;
    if (!written) {
      if (!error_) survive("log", [&] { spdlog::error("cannot store data: {}", written.error().message()); });
      error_.emplace(std::move(written).error());
      region.next_failed = std::exchange(failed_, job.region);
    }
  }
  changed_.notify_all();
}

// Its turn comes, whatever happens to it.
Result<void> RegionWriter::encode_and_append(const Job& job) {
  const auto known = all_moved(*job.region) ? error() : std::nullopt;
  const auto encoded = known ? Result<std::string>(*known) : guarded([&] { return encode(*job.region, job.effort); });
  wait_for_turn(job);
  return encoded ? append(*job.region, job.effort, *encoded) : encoded.error();
}

void RegionWriter::wait_for_turn(const Job& job) {
  const MutexLock lock(mutex_);
  changed_.wait(mutex_, [&]() DEDUPFS_REQUIRES(mutex_) { return job.lane->done == job.before; });
}

Result<void> RegionWriter::write(PendingRegion& region, Effort effort) {
  DEDUPFS_ASSIGN(const std::string encoded, encode(region, effort));
  return append(region, effort, encoded);
}

Result<std::string> RegionWriter::encode(const PendingRegion& pending_region, Effort effort) const {
  const Region& region = *pending_region.region;
  const ByteSpan payload = ByteSpan(region.payload).first(pending_region.used_bytes);
  const auto& [settled, landing] = settings_.compression;
  StageTimer timer(meter_);
  std::string encoded =
      encode_region(region.entries, payload, effort == Effort::kQuick ? landing : settled.worthwhile_for(payload));
  if (all_moved(pending_region))
    timer.end(IngestStage::kMove, 0);  // append() counts the bytes
  else
    timer.end(IngestStage::kCompress, payload.size());
  return encoded;
}

Result<void> RegionWriter::append(PendingRegion& pending_region, Effort effort, const std::string& encoded) {
  Region& region = *pending_region.region;
  const bool moved = all_moved(pending_region);
  StageTimer timer(meter_);
  DEDUPFS_ASSIGN(const RegionHeader header, decode_region_header(bytes_of(encoded).first(kRegionHeaderBytes)));
  // A payload that the quick level cannot make smaller stays as it is.
  const bool is_incompressible = header.encoding == PayloadEncoding::kRaw && !settings_.compression.landing.is_none();
  const bool is_settled = effort == Effort::kStrong || is_incompressible;
  DEDUPFS_ASSIGN(const RegionPlace place,
                 containers_.append(bytes_of(encoded), is_settled ? ContainerTier::kSettled : ContainerTier::kLanded));
  timer.end(moved ? IngestStage::kMove : IngestStage::kAppend, encoded.size());
  if (moved) moved_disk_bytes_ += encoded.size();
  // A region is likely to be read or overwritten soon after it was written. A region that was closed early would take the memory
  // of a full one.
  const std::size_t payload_bytes = pending_region.used_bytes;
  if (payload_bytes > region.payload.size() / 2) {
    region.payload.resize(payload_bytes);
    std::ranges::sort(region.entries, {}, &RegionEntry::id);  // chunks that were stored again have older ids
    cache_.insert(place, pending_region.region);
  }
  pending_.mark_written(pending_region, place, static_cast<std::uint32_t>(encoded.size()));
  return {};
}

Result<void> RegionWriter::wait_for(const std::vector<std::shared_ptr<PendingRegion>>& regions) {
  {
    const MutexLock lock(mutex_);
    changed_.wait(mutex_,
                  [&] { return std::ranges::all_of(regions, [](const auto& region) { return region->attempted; }); });
  }
  return pending_.all_written(regions) ? Result<void>() : retry_failed();
}

Result<void> RegionWriter::retry_failed() {
  const MutexLock one_at_a_time(retry_mutex_);
  const MutexLock lock(mutex_);
  while (failed_) {
    const auto region = failed_;
    Result<void> written;
    {
      const MutexUnlock unlocked(mutex_);
      written = guarded([&] { return write(*region, least_effort_for(*region)); });
    }
    if (!written) {
      error_ = written.error();
      return std::move(written).error();
    }
    auto* place = &failed_;  // more may have come in front of it
    while (*place != region) place = &(*place)->next_failed;
    *place = std::exchange(region->next_failed, nullptr);
  }
  if (error_) spdlog::info("data can be stored again");
  error_.reset();
  return {};
}

std::optional<Error> RegionWriter::error() const {
  const MutexLock lock(mutex_);
  return error_;
}

std::uint64_t RegionWriter::waiting_bytes() const {
  const MutexLock lock(mutex_);
  return new_.waiting_bytes + moved_.waiting_bytes;
}

}  // namespace dedupfs
