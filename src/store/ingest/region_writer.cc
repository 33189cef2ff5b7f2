#include "store/ingest/region_writer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/guarded.h"

namespace dedupfs {

RegionWriter::RegionWriter(ContainerStore& containers, PendingChunks& pending, RegionCache& cache,
                           const Compression& compression, std::size_t threads, std::uint64_t max_waiting_bytes)
    : containers_(containers),
      pending_(pending),
      cache_(cache),
      compression_(compression),
      max_waiting_bytes_(max_waiting_bytes),
      pool_(threads, "region-writer") {}

void RegionWriter::submit(std::shared_ptr<PendingRegion> region) {
  {
    const MutexLock lock(mutex_);
    changed_.wait(mutex_, [this]() DEDUPFS_REQUIRES(mutex_) { return waiting_bytes_ < max_waiting_bytes_ || error_; });
    waiting_bytes_ += region->used_bytes;
  }
  const auto work = [this, region = std::move(region)] { run(region); };
  if (!survive("writing a region beside others", [&] { pool_.submit(work); })) work();
}

void RegionWriter::run(const std::shared_ptr<PendingRegion>& region) noexcept {
  const std::uint32_t bytes = region->used_bytes;
  auto written = guarded([&] { return write(*region); });
  {
    const MutexLock lock(mutex_);
    waiting_bytes_ -= bytes;
    region->attempted = true;
    if (!written) {
      if (!error_) survive("log", [&] { spdlog::error("cannot store data: {}", written.error().message()); });
      error_.emplace(std::move(written).error());
      region->next_failed = std::exchange(failed_, region);
    }
  }
  changed_.notify_all();
}

Result<void> RegionWriter::write(PendingRegion& pending_region) {
  Region& region = *pending_region.region;
  const ByteSpan payload = ByteSpan(region.payload).first(pending_region.used_bytes);
  // No user waits for chunks that are stored already, and these are rarely moved again.
  const bool all_moved = pending_region.extents.empty() && pending_region.renewed.empty();
  const std::string encoded = encode_region(region.entries, payload,
                                            all_moved ? compression_.stronger() : compression_.worthwhile_for(payload));
  DEDUPFS_ASSIGN(const RegionPlace place, containers_.append(bytes_of(encoded)));
  // A region is likely to be read or overwritten soon after it was written. A region that was closed early would take the memory
  // of a full one.
  if (payload.size() > region.payload.size() / 2) {
    region.payload.resize(payload.size());
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
      written = guarded([&] { return write(*region); });
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
  return waiting_bytes_;
}

}  // namespace dedupfs
