// dedupfs-stat: what a volume holds and what deduplication saved.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "fs/control_socket.h"
#include "fs/mount_table.h"
#include "fs/statistics.h"

namespace {

using namespace dedupfs;  // NOLINT(google-build-using-namespace): a main

constexpr int kFailed = 1;

// The path itself if it is a volume, else the volume that is mounted at it or above it.
Result<Path> find_volume(const Path& given) {
  std::error_code error;
  const Path path = std::filesystem::canonical(given, error);
  if (error) return Error::from_errno(error.value(), given.string());
  if (std::filesystem::exists(path / kSuperblockFile, error)) return path;
  DEDUPFS_ASSIGN(const auto table, read_mount_table());
  for (Path above = path;; above = above.parent_path()) {
    if (const auto entry = find_dedupfs_mount(table, above)) return Path(entry->source);
    if (above == above.root_path()) break;
  }
  return Error{ErrorCode::kNotFound, given.string() + " is neither a dedupfs volume nor in a mounted one"};
}

// From the daemon if one has the volume; otherwise read here.
Result<nlohmann::json> statistics_of(const Path& volume_path) {
  VolumeOptions options;
  options.read_only = true;
  auto volume = Volume::open(volume_path, options);
  if (!volume && volume.error().code() == ErrorCode::kBusy) {
    DEDUPFS_ASSIGN(const nlohmann::json response, control_request(volume_path, {{"command", "statistics"}}));
    return response.at("statistics");
  }
  if (!volume) return volume.error();
  DEDUPFS_ASSIGN(const Statistics statistics, compute_statistics(**volume));
  return statistics_json(statistics, (*volume)->superblock(), false);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Shows what a dedupfs volume holds and what deduplication saved."};
  bool as_json = false;
  std::string path;
  app.add_flag("--json", as_json, "print one JSON object with exact numbers");
  app.add_option("VOLUME|MOUNTPOINT", path, "a volume, or a folder in a mounted one")->required();
  app.set_version_flag("--version", "dedupfs " DEDUPFS_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kFailed;
  }

  const auto volume_path = find_volume(path);
  const auto json = volume_path ? statistics_of(*volume_path) : Result<nlohmann::json>(volume_path.error());
  if (!json) {
    std::cerr << "dedupfs-stat: " << json.error().message() << '\n';
    return kFailed;
  }
  std::cout << (as_json ? json->dump(2) + "\n" : statistics_screen(*json)) << std::flush;
  return std::cout ? 0 : kFailed;
}
