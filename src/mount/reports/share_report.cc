#include "mount/reports/share_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/size.h"

namespace dedupfs {

nlohmann::json deletion_json(const Share& share) {
  return {{"freed_bytes", share.own_bytes},
          {"most_freed_bytes", share.own_bytes + share.held_bytes},
          {"held_bytes", share.held_bytes},
          {"stored_bytes", share.stored_bytes},
          {"files", share.files},
          {"logical_bytes", share.logical_bytes},
          {"kept_files", share.shared_files}};
}

std::string deletion_screen(const nlohmann::json& deletion) {
  const auto count = [&](const char* key) { return deletion.at(key).get<std::uint64_t>(); };
  const std::uint64_t freed = count("freed_bytes");
  const std::uint64_t held = count("held_bytes");
  const std::uint64_t stored = count("stored_bytes");
  const std::uint64_t files = count("files");  // 0: snapshots only
  std::string screen =
      fmt::format("Frees  {}{}: what only these have of {} on disk{}\n", human_size(freed),
                  held == 0 ? "" : fmt::format(" at least, {} at most", human_size(freed + held)), human_size(stored),
                  files == 0 ? "" : fmt::format(" ({} files, {})", files, human_size(count("logical_bytes"))));
  if (stored > freed + held)
    screen += fmt::format("Stays  {}: other files or snapshots have it, too\n", human_size(stored - freed - held));
  if (held != 0)
    screen += fmt::format(
        "Held   {}, the difference: deltas of others are made from it. A reclaim frees what it gains by encoding "
        "these again.\n",
        human_size(held));
  if (count("kept_files") != 0)
    screen += fmt::format("Kept   {} of the files: they have names elsewhere, too\n", count("kept_files"));
  return screen;
}

nlohmann::json folder_shares_json(const std::vector<std::vector<FolderShare>>& directories) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& folders : directories) {
    nlohmann::json rows = nlohmann::json::array();
    for (const FolderShare& folder : folders)
      rows.push_back({{"name", folder.name},
                      {"files", folder.share.files},
                      {"logical_bytes", folder.share.logical_bytes},
                      {"stored_bytes", folder.share.stored_bytes},
                      {"own_bytes", folder.share.own_bytes},
                      {"held_bytes", folder.share.held_bytes}});
    all.push_back(std::move(rows));
  }
  return all;
}

std::string folder_shares_screen(const nlohmann::json& folders) {
  constexpr std::string_view kRow = "{:>9}{:>12}{:>12}{:>12}  {}\n";
  std::string screen = fmt::format(kRow, "Files", "Logical", "Stored", "Own", "Folder");
  for (const nlohmann::json& folder : folders) {
    const auto bytes = [&](const char* key) { return human_size(folder.at(key).get<std::uint64_t>()); };
    screen += fmt::format(kRow, folder.at("files").get<std::uint64_t>(), bytes("logical_bytes"), bytes("stored_bytes"),
                          bytes("own_bytes"), printable(folder.at("path").get<std::string>()));
  }
  return screen;
}

nlohmann::json snapshot_shares_json(const std::vector<SnapshotShare>& snapshots) {
  nlohmann::json objects = nlohmann::json::object();
  for (const SnapshotShare& snapshot : snapshots)
    objects[std::to_string(snapshot.number)] = {{"used_bytes", snapshot.share.stored_bytes},
                                                {"own_bytes", snapshot.share.own_bytes}};
  return objects;
}

}  // namespace dedupfs
