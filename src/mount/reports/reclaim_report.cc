#include "mount/reports/reclaim_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/size.h"
#include "json/document.h"
#include "mount/reports/scrub_report.h"

namespace dedupfs {

// The JSON keeps the first names of the phases. People read the field's names.
std::string shown_phase(const std::string& phase) {
  if (phase == "await deletions") return "waiting for deletions";
  if (phase == "rebase") return "re-encode deltas";
  if (phase == "erase") return "sweep";
  if (phase == "sweep") return "copy forward";
  if (phase == "compact") return "compact the index";
  return phase;
}

bool is_settling(const nlohmann::json& findings) {
  return findings.value("goal", "") == "settle";  // a daemon of before there was a goal does not say one
}

namespace {

std::string_view name_of(ReclaimPhase phase) {
  switch (phase) {
    case ReclaimPhase::kAwait: return "await deletions";
    case ReclaimPhase::kMark: return "mark";
    case ReclaimPhase::kRebase: return "rebase";
    case ReclaimPhase::kSweep: return "erase";
    case ReclaimPhase::kCopyForward: return "sweep";
    case ReclaimPhase::kCompactIndex: return "compact";
  }
  return "unknown";
}

std::string_view name_of(ReclaimGoal goal) {
  return goal == ReclaimGoal::kSettle ? "settle" : "free_space";
}

nlohmann::json findings_json(const ReclaimFindings& findings) {
  return {
      {"goal", name_of(findings.goal)},
      {"stored_bytes", findings.stored_bytes},
      {"live_chunks", findings.live_chunks},
      {"erased_chunks", findings.erased_chunks},
      {"rebased_chunks", findings.rebased_chunks},
      {"rebased_bytes", findings.rebased_bytes},
      {"swept_containers", findings.emptied_containers},
      {"swept_bytes", findings.emptied_bytes},
      {"moved_bytes", findings.moved_bytes},
      {"freed_bytes", findings.freed_bytes()},
      {"garbage_bytes", findings.garbage_bytes},
      {"lacked_room", findings.lacked_room},
  };
}

nlohmann::json ended_json(const std::optional<ReclaimStatus::Ended>& ended) {
  if (!ended) return nullptr;
  const bool is_stopped = ended->error && ended->error->code() == ErrorCode::kInterrupted;
  nlohmann::json json = findings_json(ended->findings);
  json["seconds"] = ended->seconds;
  put_time(json, "ended", ended->ended_unix_seconds);
  json["complete"] = !ended->error;
  json["error"] = ended->error && !is_stopped ? nlohmann::json(ended->error->message()) : nlohmann::json(nullptr);
  return json;
}

nlohmann::json copy_rate(const ReclaimStatus& status) {
  if (!status.running || status.paused || status.phase != ReclaimPhase::kCopyForward || status.phase_seconds <= 0 ||
      status.current.emptied_bytes == 0)
    return nullptr;
  return static_cast<double>(status.current.emptied_bytes) / status.phase_seconds;
}

nlohmann::json time_left(const ReclaimStatus& status) {
  constexpr double kShownAsAll = 0.995;  // as 100 %: the measured rate does not hold for the rest
  const auto left = status.paused || status.progress >= kShownAsAll ? std::nullopt : status.seconds_left();
  return or_null(left);
}

std::string bytes_of(const nlohmann::json& json, const char* key) {
  return human_size(json.at(key).get<std::uint64_t>());
}

std::string freed_text(const nlohmann::json& findings) {
  if (is_settling(findings))
    return fmt::format("{} settled, stored in {}", bytes_of(findings, "swept_bytes"),
                       bytes_of(findings, "stored_bytes"));
  const auto rebased = findings.at("rebased_chunks").get<std::uint64_t>();
  return fmt::format("{} freed, {} chunks erased{}, {} containers emptied, {} moved", bytes_of(findings, "freed_bytes"),
                     findings.at("erased_chunks").get<std::uint64_t>(),
                     rebased == 0 ? "" : fmt::format(", {} deltas re-encoded", rebased),
                     findings.at("swept_containers").get<std::uint64_t>(), bytes_of(findings, "moved_bytes"));
}

std::string running_line(const nlohmann::json& json) {
  const nlohmann::json& left = json.at("seconds_left");
  const nlohmann::json& rate = json.at("swept_bytes_per_second");
  const bool settling = is_settling(json.at("current"));
  const char* const state = json.at("paused").get<bool>()  ? "paused"
                            : json.value("waiting", false) ? "waiting until the volume is idle"
                                                           : "running";
  const auto limit = json.value("bytes_per_second", std::uint64_t{0});
  return fmt::format("{} {}: {} {:.0f} %{}{}{}; {}\n", settling ? "Settling" : "Reclaim", state,
                     shown_phase(json.at("phase").get<std::string>()), json.at("progress_percent").get<double>(),
                     left.is_null() ? "" : fmt::format(", about {:.0f} s left", left.get<double>()),
                     rate.is_null() ? "" : ", " + human_size(static_cast<std::uint64_t>(rate.get<double>())) + "/s",
                     rate_limit_text(limit), freed_text(json.at("current")));
}

std::string last_line(const nlohmann::json& last) {
  const char* const job = !last.is_null() && is_settling(last) ? "settling" : "reclaim";
  if (last.is_null()) return "Last reclaim: none since the mount (dedupfs-gc MOUNTPOINT starts one)\n";
  const std::string found = fmt::format("{:.0f} s; {}", last.at("seconds").get<double>(), freed_text(last));
  if (!last.at("error").is_null())
    return fmt::format("Last {}: FAILED after {} ({})\n", job, found, last.at("error").get<std::string>());
  if (!last.at("complete").get<bool>()) return fmt::format("Last {}: stopped after {}\n", job, found);
  return fmt::format(
      "Last {}: {}, {} of garbage left{}\n", job, found, bytes_of(last, "garbage_bytes"),
      last.at("lacked_room").get<bool>() ? ": too little disk space to move the live data beside it" : "");
}

}  // namespace

nlohmann::json reclaim_json(const std::optional<ReclaimStatus>& status) {
  return status ? reclaim_json(*status) : nlohmann::json(nullptr);
}

nlohmann::json reclaim_json(const ReclaimStatus& status) {
  return {
      {"running", status.running},
      {"paused", status.paused},
      {"waiting", status.waiting},
      {"phase", status.running ? nlohmann::json(name_of(status.phase)) : nlohmann::json(nullptr)},
      {"progress_percent", status.running ? nlohmann::json(100 * status.progress) : nlohmann::json(nullptr)},
      {"seconds", status.running ? status.seconds : 0.0},
      {"seconds_left", time_left(status)},
      {"swept_bytes_per_second", copy_rate(status)},
      {"bytes_per_second", status.bytes_per_second},
      {"current", status.running ? findings_json(status.current) : nlohmann::json(nullptr)},
      {"last", ended_json(status.last)},
      {"freed_bytes", status.freed_bytes},
  };
}

std::string reclaim_screen(const nlohmann::json& json) {
  if (json.at("running").get<bool>()) return running_line(json);
  return last_line(json.at("last")) +
         (json.at("paused").get<bool>()
              ? "Automatic reclaims and settling are paused (dedupfs-gc --resume MOUNTPOINT enables them)\n"
              : "");
}

}  // namespace dedupfs
