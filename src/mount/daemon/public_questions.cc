#include "mount/daemon/public_questions.h"

#include <optional>
#include <string>

#include "fs/statistics/statistics.h"
#include "mount/reports/statistics_report.h"

namespace dedupfs {
namespace {

std::optional<ReclaimStatus> reclaim_status_of(Filesystem& filesystem) {
  if (filesystem.volume().read_only()) return std::nullopt;
  return filesystem.reclaimer().status();
}

void hide_reason(nlohmann::json& job) {
  if (job.is_null() || job.at("last").is_null() || job.at("last").at("error").is_null()) return;
  job["last"]["error"] = "the log of the daemon has the reason";
}

Result<std::string> public_statistics(Filesystem& filesystem) {
  DEDUPFS_ASSIGN(nlohmann::json statistics, committed_statistics(filesystem));
  hide_reason(statistics.at("reclaim"));
  return statistics.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Result<nlohmann::json> committed_statistics(Filesystem& filesystem) {
  DEDUPFS_ASSIGN(const Statistics statistics, compute_statistics(filesystem.volume()));
  return statistics_json(statistics, filesystem.volume().superblock(), filesystem.scrubber().status(),
                         reclaim_status_of(filesystem), true);
}

PublicAnswers::Makers public_questions(Filesystem& filesystem) {
  return {{"dedupfs.statistics", [&filesystem] { return public_statistics(filesystem); }}};
}

}  // namespace dedupfs
