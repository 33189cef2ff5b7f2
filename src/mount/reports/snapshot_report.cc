#include "mount/reports/snapshot_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/size.h"
#include "fs/format/local_time.h"
#include "json/document.h"

namespace dedupfs {

namespace {

nlohmann::json hold_json(const HoldStatus& hold) {
  return with_time({{"until_released", hold.until_released}, {"seconds_left", hold.seconds_left}}, "until",
                   hold.until_unix_seconds);
}

HoldStatus hold_of(const nlohmann::json& json) {
  HoldStatus hold{.until_released = json.at("until_released").get<bool>(), .until_unix_seconds = {}};
  if (const nlohmann::json& until = json.at("until_unix_seconds"); !until.is_null())
    hold.until_unix_seconds = until.get<std::int64_t>();
  hold.seconds_left = json.at("seconds_left").get<std::uint64_t>();
  return hold;
}

}  // namespace

nlohmann::json snapshots_json(const std::vector<SnapshotRecord>& snapshots, const Holds& holds) {
  nlohmann::json array = nlohmann::json::array();
  for (const SnapshotRecord& snapshot : snapshots) {
    const auto hold = holds.find(snapshot.number);
    array.push_back(with_time({{"name", snapshot.name},
                               {"number", snapshot.number},
                               {"uuid", snapshot.uuid},
                               {"dated_here", snapshot.is_dated_here},
                               {"inodes", snapshot.inodes},
                               {"hold", hold == holds.end() ? nlohmann::json(nullptr) : hold_json(hold->second)}},
                              "created", snapshot.created_unix_seconds));
  }
  return array;
}

Holds holds_of(const nlohmann::json& json) {
  Holds holds;
  for (const nlohmann::json& entry : json)
    if (const auto hold = entry.find("hold"); hold != entry.end() && !hold->is_null())  // an older daemon knows none
      holds[entry.at("number").get<TreeNumber>()] = hold_of(*hold);
  return holds;
}

std::string hold_text(const HoldStatus& hold) {
  if (!hold.until_unix_seconds) return "held until it is released";
  return fmt::format("held until {}, for another {} at least", second_text(*hold.until_unix_seconds),
                     duration_text(hold.seconds_left));
}

std::vector<SnapshotRecord> snapshots_of(const nlohmann::json& json) {
  std::vector<SnapshotRecord> snapshots;
  for (const nlohmann::json& entry : json)
    snapshots.push_back({.number = entry.at("number").get<TreeNumber>(),
                         .name = entry.at("name").get<std::string>(),
                         .created_unix_seconds = entry.at("created_unix_seconds").get<std::int64_t>(),
                         .inodes = entry.at("inodes").get<std::uint64_t>(),
                         .uuid = entry.value("uuid", std::string()),
                         .is_dated_here = entry.value("dated_here", false)});
  return snapshots;
}

nlohmann::json sized_snapshots_json(const std::vector<SnapshotRecord>& snapshots, const Holds& holds,
                                    const nlohmann::json& sizes) {
  nlohmann::json array = snapshots_json(snapshots, holds);
  for (nlohmann::json& snapshot : array)
    if (const auto size = sizes.find(std::to_string(snapshot.at("number").get<TreeNumber>())); size != sizes.end())
      snapshot.update(*size);
  return array;
}

std::string snapshots_screen(const std::vector<SnapshotRecord>& snapshots, const Holds& holds,
                             const nlohmann::json& sizes) {
  std::string screen;
  for (const SnapshotRecord& snapshot : snapshots) {
    screen += fmt::format("{}  {:>12} inodes  ", second_text(snapshot.created_unix_seconds), snapshot.inodes);
    if (const auto size = sizes.find(std::to_string(snapshot.number)); size != sizes.end())
      screen += fmt::format("{:>11} used  {:>11} own  ", human_size(size->at("used_bytes").get<std::uint64_t>()),
                            human_size(size->at("own_bytes").get<std::uint64_t>()));
    screen += snapshot.name;
    if (const auto hold = holds.find(snapshot.number); hold != holds.end())
      screen += fmt::format("  ({})", hold_text(hold->second));
    screen += '\n';
  }
  return screen;
}

nlohmann::json clone_json(const CloneTotals& totals) {
  return {
      {"files", totals.files}, {"directories", totals.directories}, {"others", totals.others}, {"bytes", totals.bytes}};
}

}  // namespace dedupfs
