#include "mount/daemon/public_questions.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/history/history_series.h"
#include "fs/statistics/statistics.h"
#include "json/document.h"
#include "mount/reports/connection_report.h"
#include "mount/reports/history_report.h"
#include "mount/reports/jobs_report.h"
#include "mount/reports/performance_report.h"
#include "mount/reports/quota_report.h"
#include "mount/reports/reclaim_report.h"
#include "mount/reports/replication_report.h"
#include "mount/reports/scrub_report.h"
#include "mount/reports/statistics_report.h"

namespace dedupfs {
namespace {

std::optional<ReclaimStatus> reclaim_status_of(Filesystem& filesystem) {
  if (filesystem.volume().read_only()) return std::nullopt;
  return filesystem.reclaimer().status();
}

void hide_reason(nlohmann::json& outcome) {
  if (outcome.is_null() || outcome.at("error").is_null()) return;
  outcome["error"] = "the log of the daemon has the reason";
}

nlohmann::json performance_of(FuseMount& mount, Filesystem& filesystem) {
  const RequestMeters& requests = mount.request_meters();
  MeterReadings readings = filesystem.readings();
  readings.requests = requests.readings();
  readings.queues.push_back({"operations", requests.running()});
  return performance_json(readings, requests.age());
}

std::string public_text(std::string_view schema, nlohmann::json answer) {
  if (const auto reclaim = answer.find("reclaim"); reclaim != answer.end() && !reclaim->is_null())
    hide_reason(reclaim->at("last"));
  if (const auto remote = answer.find("remote"); remote != answer.end()) hide_reason(*remote);
  return document_text(schema, std::move(answer), JsonLayout::kLine);
}

// Cheap, unlike the statistics: it may be asked every minute.
Result<std::string> health(Filesystem& filesystem, std::int64_t mounted_unix_seconds) {
  Volume& volume = filesystem.volume();
  DEDUPFS_ASSIGN(const SpaceReport space, filesystem.space());
  nlohmann::json answer = {
      {"pid", ::getpid()},
      {"was_closed", volume.was_closed()},
      {"read_only", volume.read_only()},
      {"failed", filesystem.abort_reason().has_value()},
      {"damaged_chunks", damaged_chunks_of(volume)},
      {"total_bytes", space.disk_bytes},
      {"available_bytes", space.available_bytes},
      {"scrub", scrub_json(filesystem.scrubber().status())},
      {"reclaim", reclaim_json(reclaim_status_of(filesystem))},
  };
  put_time(answer, "mounted", mounted_unix_seconds);
  return public_text("dedupfs.health", std::move(answer));
}

Result<std::string> public_statistics(FuseMount& mount, const BackgroundShipper* shipper) {
  DEDUPFS_ASSIGN(nlohmann::json statistics, committed_statistics(mount, shipper));
  return public_text("dedupfs-stat", std::move(statistics));
}

// Of the limit that leaves the least: 1 is full.
double fullness(const QuotaStatus& quota) {
  const auto part = [](std::uint64_t used, const std::optional<std::uint64_t>& limit) {
    return limit ? static_cast<double>(used) / std::max(1.0, static_cast<double>(*limit)) : 0;
  };
  return std::max({part(quota.logical_bytes, quota.limits.logical_bytes),
                   part(quota.stored_bytes + quota.unmeasured_bytes, quota.limits.stored_bytes),
                   part(quota.files, quota.limits.files)});
}

// As many as an attribute has room for, the fullest ones.
std::string public_quotas(const Filesystem& filesystem) {
  constexpr std::ptrdiff_t kMostQuotas = 250;
  std::vector<QuotaStatus> quotas = filesystem.quotas();
  if (std::ssize(quotas) > kMostQuotas) {
    std::ranges::nth_element(quotas, quotas.begin() + kMostQuotas, std::greater(), fullness);
    quotas.resize(kMostQuotas);
  }
  return public_text("dedupfs.quotas", {{"quotas", quotas_json(quotas)}});
}

// As many samples as an attribute has room for.
Result<std::string> public_history(Volume& volume) {
  constexpr std::size_t kMostSamples = 150;
  DEDUPFS_ASSIGN(const History history, read_history(volume.metadata(), std::time(nullptr)));
  return public_text("dedupfs.history", {{"samples", history_json(thinned(history, kMostSamples))}});
}

}  // namespace

Result<nlohmann::json> committed_statistics(FuseMount& mount, const BackgroundShipper* shipper) {
  const auto held = mount.hold_filesystem();
  Filesystem& filesystem = *held;
  DEDUPFS_ASSIGN(const Statistics statistics, compute_statistics(filesystem.volume()));
  nlohmann::json json = statistics_json(statistics, filesystem.volume().superblock(), filesystem.scrubber().status(),
                                        reclaim_status_of(filesystem), true);
  json["performance"] = performance_of(mount, filesystem);
  json["encryption"] = encryption_json(*filesystem.volume().folder());
  json["remote"] = replication_json(shipper, filesystem.volume());
  json["kernel"] = connection_json(mount.kernel_connection());
  return json;
}

nlohmann::json live_statistics(FuseMount& mount) {
  const auto filesystem = mount.hold_filesystem();
  nlohmann::json live = background_jobs(*filesystem);
  live["performance"] = performance_of(mount, *filesystem);
  return live;
}

nlohmann::json background_jobs(Filesystem& filesystem) {
  return {{"scrub", scrub_json(filesystem.scrubber().status())},
          {"reclaim", reclaim_json(reclaim_status_of(filesystem))},
          {"jobs", jobs_json(filesystem.running_jobs().all())}};
}

PublicAnswers::Makers public_questions(FuseMount& mount, const BackgroundShipper* shipper) {
  return {
      {"dedupfs.statistics", [&mount, shipper] { return public_statistics(mount, shipper); }},
      {"dedupfs.live", [&mount] { return Result<std::string>(public_text("dedupfs.live", live_statistics(mount))); }},
      {"dedupfs.quotas", [&mount] { return Result<std::string>(public_quotas(*mount.hold_filesystem())); }},
      {"dedupfs.history", [&mount] { return public_history(mount.hold_filesystem()->volume()); }},
      {"dedupfs.health",
       [&mount, mounted = std::int64_t{std::time(nullptr)}] { return health(*mount.hold_filesystem(), mounted); }},
  };
}

}  // namespace dedupfs
