#include "mount/reports/scrub_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/size.h"
#include "fs/format/local_time.h"
#include "json/document.h"

namespace dedupfs {
namespace {

nlohmann::json findings_json(const std::optional<ScrubFindings>& findings) {
  if (!findings) return nullptr;
  nlohmann::json json = {
      {"checked_bytes", findings->checked_bytes},
      {"damaged_chunks", findings->damaged_chunks},
      {"other_damage", findings->other_damage},
      {"complete", findings->complete},
  };
  put_time(json, "started", findings->started_unix_seconds);
  put_time(json, "ended", findings->ended_unix_seconds);
  if (findings->ended_unix_seconds == 0) json["ended"] = nullptr;  // it is still running
  return json;
}

std::string findings_text(const nlohmann::json& findings) {
  const auto count = [&](const char* key) { return findings.at(key).get<std::uint64_t>(); };
  const std::string checked = human_size(count("checked_bytes")) + " checked, ";
  if (count("damaged_chunks") == 0 && count("other_damage") == 0) return checked + "no damage";
  return checked + fmt::format("{} DAMAGED CHUNKS, {} other errors (see the log, run fsck.dedupfs)",
                               count("damaged_chunks"), count("other_damage"));
}

std::string damaged_files_text(const nlohmann::json& json) {
  const auto files = json.find("damaged_files");
  if (files == json.end() || files->is_null()) return "";
  std::string text;
  for (const nlohmann::json& file : *files) text += "Damaged: " + printable(file.get<std::string>()) + '\n';
  const auto more = json.at("more_damaged_files").get<std::uint64_t>();
  return more == 0 ? text : text + fmt::format("Damaged: {} files more\n", more);
}

}  // namespace

std::string rate_limit_text(std::uint64_t bytes_per_second) {
  return bytes_per_second == 0 ? "" : fmt::format(", at most {}/s", human_size(bytes_per_second));
}

nlohmann::json scrub_json(const ScrubStatus& status) {
  return {
      {"running", status.running},
      {"progress_percent", 100 * status.progress},
      {"bytes_per_second", status.bytes_per_second},
      {"seconds_left", or_null(status.seconds_left)},
      {"checked_bytes_per_second", or_null(status.checked_bytes_per_second)},
      {"current", findings_json(status.current)},
      {"last", findings_json(status.last)},
  };
}

nlohmann::json scrub_json(const ScrubStatus& status, const std::optional<DamagedFileNames>& files) {
  nlohmann::json json = scrub_json(status);
  json["damaged_files"] = files ? nlohmann::json(files->names) : nlohmann::json(nullptr);
  json["more_damaged_files"] = files ? nlohmann::json(files->more) : nlohmann::json(nullptr);
  return json;
}

std::string scrub_screen(const nlohmann::json& json) {
  std::string out;
  if (json.at("running").get<bool>()) {
    const nlohmann::json& left = json.at("seconds_left");
    out += fmt::format("Scrub running: {:.0f} %{}{}; {}\n", json.at("progress_percent").get<double>(),
                       rate_limit_text(json.value("bytes_per_second", std::uint64_t{0})),
                       left.is_null() ? "" : fmt::format(", about {} s left", left.get<std::int64_t>()),
                       findings_text(json.at("current")));
  }
  const nlohmann::json& last = json.at("last");
  if (last.is_null()) return out + "Last scrub: never (dedupfs-scrub MOUNTPOINT starts one)\n";
  out += fmt::format("Last scrub: {}{}; {}\n", minute_text(last.at("ended_unix_seconds").get<std::int64_t>()),
                     last.at("complete").get<bool>() ? "" : ", stopped early", findings_text(last));
  return out + damaged_files_text(json);
}

}  // namespace dedupfs
