#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/size.h"
#include "fs/format/local_time.h"
#include "report/html.h"
#include "report/sections.h"
#include "report/table.h"

namespace dedupfs::tools {
namespace {

constexpr std::size_t kMostRows = 100;

std::uint64_t bytes_of(const nlohmann::json& row, const char* key) {
  const auto found = row.find(key);
  return found == row.end() ? 0 : found->get<std::uint64_t>();
}

// The rows with the largest values first.
std::vector<nlohmann::json> largest_first(std::vector<nlohmann::json> rows, const char* key) {
  std::ranges::stable_sort(rows, std::greater(), [key](const nlohmann::json& row) { return bytes_of(row, key); });
  return rows;
}

std::string size_with_bar(std::uint64_t bytes, std::uint64_t most) {
  return human_size(bytes) +
         share_bar(static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(most, 1)));
}

std::string rest_text(std::size_t rows) {
  return rows <= kMostRows ? "" : fmt::format("<p class=\"quiet\">And {} more.</p>\n", rows - kMostRows);
}

std::string name_of(const nlohmann::json& snapshot) {
  const auto hold = snapshot.find("hold");
  const bool is_held = hold != snapshot.end() && !hold->is_null();
  return html_name(snapshot.at("name").get<std::string>()) + (is_held ? " <small>held</small>" : "");
}

}  // namespace

std::string snapshots_section(const ReportFacts& facts) {
  const std::vector<nlohmann::json> snapshots(facts.snapshots.begin(), facts.snapshots.end());
  if (snapshots.empty()) return {};
  std::uint64_t most = 0;
  for (const nlohmann::json& snapshot : snapshots) most = std::max(most, bytes_of(snapshot, "own_bytes"));
  HtmlTable table({{"Snapshot"}, {"Made", true}, {"Holds"}, {"Would free"}});
  for (std::size_t i = snapshots.size(); i-- > 0 && snapshots.size() - i <= kMostRows;) {  // the newest first
    const nlohmann::json& snapshot = snapshots[i];
    table.add({name_of(snapshot), html(minute_text(snapshot.at("created_unix_seconds").get<std::int64_t>())),
               human_size(bytes_of(snapshot, "used_bytes")), size_with_bar(bytes_of(snapshot, "own_bytes"), most)});
  }
  return "<section>\n<h2>Snapshots</h2>\n<p class=\"quiet\">What a snapshot would free is what nobody else needs: no "
         "file, "
         "no other snapshot. Snapshots that are deleted together free more.</p>\n" +
         table.text() + rest_text(snapshots.size()) + "</section>\n";
}

std::string folders_section(const ReportFacts& facts) {
  std::vector<nlohmann::json> folders;
  for (const nlohmann::json& row : facts.folders)
    if (!row.at("name").get<std::string>().empty()) folders.push_back(row);
  if (folders.empty()) return {};
  const std::size_t all = folders.size();
  folders = largest_first(std::move(folders), "stored_bytes");
  std::uint64_t most = 0;
  for (const nlohmann::json& folder : folders) most = std::max(most, bytes_of(folder, "own_bytes"));
  folders.resize(std::min(all, kMostRows));
  HtmlTable table({{"Folder"}, {"Files", true}, {"Size", true}, {"Holds"}, {"Would free"}});
  for (const nlohmann::json& folder : folders)
    table.add({html_name(folder.at("name").get<std::string>()), fmt::format("{}", bytes_of(folder, "files")),
               human_size(bytes_of(folder, "logical_bytes")), human_size(bytes_of(folder, "stored_bytes")),
               size_with_bar(bytes_of(folder, "own_bytes"), most)});
  return "<section>\n<h2>Folders</h2>\n<p class=\"quiet\">What a folder holds, it may share with others. It would free "
         "what "
         "nobody else needs: no other folder, no snapshot.</p>\n" +
         table.text() + rest_text(all) + "</section>\n";
}

}  // namespace dedupfs::tools
