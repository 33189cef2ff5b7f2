// The report of fsck.dedupfs, for people and for programs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "fs/check/fsck.h"

namespace dedupfs {

std::string summary_of(const FsckReport& report, const Path& volume) {
  std::string text;
  std::uint64_t lost_bytes = 0;
  for (const LostFile& file : report.lost_files) lost_bytes += file.lost_bytes();
  if (!report.lost_files.empty())
    text += fmt::format("{}: {} files have lost {} bytes; reading there gives an error\n", volume.string(),
                        report.lost_files.size(), lost_bytes);
  const std::string outcome = report.is_clean()         ? report.repairs != 0 ? "repaired" : "clean"
                              : report.errors_left == 0 ? "sound, except for lost content"
                                                        : fmt::format("{} errors", report.errors_left);
  return text + fmt::format("{}: {} inodes ({} directories), {} chunks, {} references: {}\n", volume.string(),
                            report.inodes, report.directories, report.chunks, report.references, outcome);
}

nlohmann::json to_json(const FsckReport& report, const Path& volume) {
  using Json = nlohmann::json;
  Json findings = Json::array();
  for (const std::string& line : report.lines) {
    const std::size_t colon = line.find(": ");
    findings.push_back({{"kind", line.substr(0, colon)}, {"text", line.substr(colon + 2)}});
  }
  Json lost_files = Json::array();
  for (const LostFile& file : report.lost_files) {
    Json ranges = Json::array();
    for (const LostRange& range : file.ranges)
      ranges.push_back({{"offset", range.offset}, {"length", range.length}, {"why", range.why}});
    lost_files.push_back(
        {{"inode", file.inode}, {"paths", file.paths}, {"lost_bytes", file.lost_bytes()}, {"ranges", ranges}});
  }
  return {
      {"volume", volume.string()},
      {"findings", findings},
      {"lost_files", lost_files},
      {"totals",
       {{"inodes", report.inodes},
        {"directories", report.directories},
        {"chunks", report.chunks},
        {"references", report.references},
        {"errors_found", report.errors_found},
        {"errors_left", report.errors_left},
        {"repairs", report.repairs}}},
      {"exit_status", report.exit_status()},
  };
}

}  // namespace dedupfs
