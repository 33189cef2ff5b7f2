#include "mount/daemon/open_filesystem.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <thread>
#include <utility>

#include "base/size.h"
#include "mount/control/closing_daemon.h"

namespace dedupfs {
namespace {

// If no other user can reach the mount, its user sees the snapshots, even without owning the root folder.
FilesystemOptions::SnapshotAccess snapshot_access(const MountOptions& options) {
  using enum SnapshotAccess;  // not by its other name: clang 14 wants the enumeration itself
  const bool others_reach_it = options.allow_other.value_or(::geteuid() == 0);
  return options.snapshots == kOwner && !others_reach_it ? kVisible : options.snapshots;
}

}  // namespace

MemoryLimits memory_limits() {
  return memory_limits_for(memory_of_machine(), std::thread::hardware_concurrency());
}

Result<std::unique_ptr<Filesystem>> open_filesystem(const MountRequest& request,
                                                    const std::function<void(const std::string&)>& report) {
  const MountOptions& options = request.options;
  VolumeOptions volume_options;
  volume_options.read_only = options.read_only;
  volume_options.foreign = options.foreign;
  const MemoryLimits limits = memory_limits();
  volume_options.index_memory_bytes = options.index_memory_bytes == 0 ? limits.index : options.index_memory_bytes;
  volume_options.cache_bytes = options.cache_bytes == 0 ? limits.cache : options.cache_bytes;
  volume_options.waiting_region_bytes = limits.waiting_regions;
  volume_options.threads = options.threads;
  volume_options.settled = options.settled;
  volume_options.landing = options.landing;
  volume_options.slow_bytes = ArrivalRate::bytes_in_window(options.slow_source_bytes);
  volume_options.far_delta_bytes_an_hour = options.remote_delta_budget_bytes;
  volume_options.when_recovering = [&](std::uint64_t log_bytes) {
    report(fmt::format("recovering {}, which was not closed: {} of changes are read again", request.volume.string(),
                       human_size(log_bytes)));
  };
  auto volume =
      when_closed(request.volume, [&] { return Volume::open(request.volume, volume_options, request.backing); });
  if (!volume) {
    if (volume.error().code() != ErrorCode::kReadOnly) return volume.error();
    return Error{ErrorCode::kReadOnly, volume.error().message() + "; mount it with -o ro"};
  }
  FilesystemOptions filesystem_options;
  filesystem_options.commit_interval = options.commit_interval;
  filesystem_options.checkpoint_interval = options.checkpoint_interval;
  filesystem_options.dirty_bytes = options.dirty_bytes == 0 ? limits.dirty : options.dirty_bytes;
  filesystem_options.group_bytes = limits.group;
  filesystem_options.spare_memory = [] { return available_memory(); };
  filesystem_options.atime = options.atime;
  filesystem_options.snapshot_access = snapshot_access(options);
  filesystem_options.settle = options.settle;
  filesystem_options.settle_cpu_percent = static_cast<unsigned>(options.settle_cpu_percent);
  filesystem_options.gather_percent = static_cast<unsigned>(options.gather_percent);
  filesystem_options.payback_months = static_cast<unsigned>(options.payback_months);
  filesystem_options.least_container_age = std::chrono::days(options.remote_min_age_days);
  filesystem_options.defragment_percent = static_cast<unsigned>(options.defragment_percent);
  filesystem_options.history.emplace();
  return Filesystem::open(std::move(*volume), filesystem_options);
}

}  // namespace dedupfs
