#include "mount/reports/snapshot_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/size.h"
#include "fs/format/local_time.h"

namespace dedupfs {

nlohmann::json snapshots_json(const std::vector<SnapshotRecord>& snapshots) {
  nlohmann::json array = nlohmann::json::array();
  for (const SnapshotRecord& snapshot : snapshots)
    array.push_back({{"name", snapshot.name},
                     {"number", snapshot.number},
                     {"created_unix_seconds", snapshot.created_unix_seconds},
                     {"inodes", snapshot.inodes}});
  return array;
}

std::vector<SnapshotRecord> snapshots_of(const nlohmann::json& json) {
  std::vector<SnapshotRecord> snapshots;
  for (const nlohmann::json& entry : json)
    snapshots.push_back({.number = entry.at("number").get<TreeNumber>(),
                         .name = entry.at("name").get<std::string>(),
                         .created_unix_seconds = entry.at("created_unix_seconds").get<std::int64_t>(),
                         .inodes = entry.at("inodes").get<std::uint64_t>()});
  return snapshots;
}

nlohmann::json sized_snapshots_json(const std::vector<SnapshotRecord>& snapshots, const nlohmann::json& sizes) {
  nlohmann::json array = snapshots_json(snapshots);
  for (nlohmann::json& snapshot : array)
    if (const auto size = sizes.find(std::to_string(snapshot.at("number").get<TreeNumber>())); size != sizes.end())
      snapshot.update(*size);
  return array;
}

std::string snapshots_screen(const std::vector<SnapshotRecord>& snapshots, const nlohmann::json& sizes) {
  std::string screen;
  for (const SnapshotRecord& snapshot : snapshots) {
    screen += fmt::format("{}  {:>12} inodes  ", second_text(snapshot.created_unix_seconds), snapshot.inodes);
    if (const auto size = sizes.find(std::to_string(snapshot.number)); size != sizes.end())
      screen += fmt::format("{:>11} used  {:>11} own  ", human_size(size->at("used_bytes").get<std::uint64_t>()),
                            human_size(size->at("own_bytes").get<std::uint64_t>()));
    screen += snapshot.name + '\n';
  }
  return screen;
}

nlohmann::json clone_json(const CloneTotals& totals) {
  return {
      {"files", totals.files}, {"directories", totals.directories}, {"others", totals.others}, {"bytes", totals.bytes}};
}

}  // namespace dedupfs
