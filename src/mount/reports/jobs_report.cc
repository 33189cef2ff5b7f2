#include "mount/reports/jobs_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "fs/format/local_time.h"
#include "json/document.h"
#include "mount/reports/reclaim_report.h"

namespace dedupfs {
namespace {

constexpr double kMostSecondsShown = 1e9;

// The names are those of commands at the control socket.
std::string people_call(const std::string& name) {
  static const std::map<std::string_view, std::string_view> kNames = {
      {"send", "sending a snapshot"},
      {"receive", "receiving a snapshot"},
      {"clone", "cloning"},
      {"quota", "counting a tree for its quota"},
      {"folders", "counting what folders take"},
      {"snapshot_sizes", "counting what snapshots take"},
      {"statistics", "counting what the volume holds"},
      {"freed", "counting what a deletion would free"},
  };
  const auto found = kNames.find(name);
  return found == kNames.end() ? name : std::string(found->second);
}

std::string progress_text(const nlohmann::json& percent, const nlohmann::json& seconds_left) {
  std::string text;
  if (!percent.is_null()) text += fmt::format(" {:.0f} %", std::floor(percent.get<double>()));
  if (seconds_left.is_null()) return text;
  const double left = std::clamp(std::ceil(seconds_left.get<double>()), 0.0, kMostSecondsShown);
  if (left > 0) text += fmt::format(", {} left", duration_text(static_cast<std::uint64_t>(left)));
  return text;
}

void add(std::string& line, const std::string& job) {
  line += (line.empty() ? "" : "; ") + job;
}

std::string reclaim_text(const nlohmann::json& reclaim) {
  const std::string job = is_settling(reclaim.at("current")) ? "settling" : "reclaim";
  if (reclaim.at("paused").get<bool>()) return job + " paused";
  if (reclaim.at("waiting").get<bool>()) return job + " waiting until the volume is idle";
  return fmt::format("{}: {}{}", job, shown_phase(reclaim.at("phase").get<std::string>()),
                     progress_text(reclaim.at("progress_percent"), reclaim.at("seconds_left")));
}

}  // namespace

nlohmann::json job_json(const RunningJobs::Status& status) {
  const auto progress = status.progress();
  return {{"name", status.name},
          {"done", status.done},
          {"total", status.total == 0 ? nlohmann::json() : nlohmann::json(status.total)},
          {"progress_percent", progress ? nlohmann::json(100 * *progress) : nlohmann::json()},
          {"seconds", status.seconds},
          {"seconds_left", or_null(status.seconds_left())}};
}

nlohmann::json jobs_json(const std::vector<RunningJobs::Status>& jobs) {
  nlohmann::json json = nlohmann::json::array();
  for (const RunningJobs::Status& job : jobs) json.push_back(job_json(job));
  return json;
}

std::string job_text(const nlohmann::json& job) {
  return people_call(job.at("name").get<std::string>()) +
         progress_text(job.at("progress_percent"), job.at("seconds_left"));
}

std::string jobs_line(const nlohmann::json& live) {
  std::string line;
  const nlohmann::json& scrub = live.at("scrub");
  if (scrub.at("running").get<bool>())
    add(line, "scrub" + progress_text(scrub.at("progress_percent"), scrub.at("seconds_left")));
  const nlohmann::json& reclaim = live.at("reclaim");
  if (!reclaim.is_null() && reclaim.at("running").get<bool>()) add(line, reclaim_text(reclaim));
  for (const nlohmann::json& job : live.at("jobs")) add(line, job_text(job));
  return line;
}

}  // namespace dedupfs
