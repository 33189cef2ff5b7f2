// fsck.dedupfs: checks a volume that is not mounted.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "base/size.h"
#include "fs/namespace_check.h"
#include "store/feature_rebuild.h"
#include "store/store_check.h"

namespace {

using namespace dedupfs;  // NOLINT(google-build-using-namespace): a main

// fsck(8)
constexpr int kClean = 0;
constexpr int kErrorsLeft = 4;
constexpr int kOperationalError = 8;
constexpr int kUsageError = 16;

Result<int> check(const Path& path) {
  VolumeOptions options;
  options.read_only = true;
  DEDUPFS_ASSIGN(const auto volume, Volume::open(path, options));
  CheckReport report([](const std::string& line) { std::cout << line << '\n'; });
  DEDUPFS_ASSIGN(const ChunkTable chunks, check_store(*volume, report));
  DEDUPFS_ASSIGN(const NamespaceTotals totals, check_namespace(*volume, chunks, report));
  std::cout << fmt::format("{}: {} inodes ({} directories), {} chunks, {} references: {}\n", path.string(),
                           totals.inodes, totals.directories, chunks.chunks(), totals.chunk_references,
                           report.errors() == 0 ? "clean" : fmt::format("{} errors", report.errors()));
  if (!std::cout.flush()) return Error{ErrorCode::kIo, "cannot write what was found"};
  return report.errors() == 0 ? kClean : kErrorsLeft;
}

Result<int> rebuild_features(const Path& path) {
  DEDUPFS_ASSIGN(const auto volume, Volume::open(path, {}));
  DEDUPFS_ASSIGN(const FeatureRebuild rebuilt, rebuild_feature_index(*volume));
  std::cout << fmt::format("{}: {} chunks are found by their features, {} could not be read\n", path.string(),
                           rebuilt.indexed, rebuilt.unreadable);
  return rebuilt.unreadable == 0 ? kClean : kErrorsLeft;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Checks every structure and checksum of a dedupfs volume that is not mounted. Repairs nothing yet."};
  std::string path;
  bool accepted = false;  // this version only checks, whatever fsck(8) asks for
  app.add_flag("-n", accepted, "change nothing: the default, and all that this version does");
  app.add_flag("-a,-p", accepted, "as fsck(8) passes it; checks only");
  app.add_flag("-f", accepted, "as fsck(8) passes it; it always checks");
  bool features = false;
  app.add_flag("--rebuild-features", features, "instead, make the index anew in which near-duplicates are found");
  app.add_option("VOLUME", path, "the volume")->required();
  app.set_version_flag("--version", "dedupfs " DEDUPFS_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kClean : kUsageError;
  }
  const auto result = features ? rebuild_features(path) : check(path);
  if (!result) {
    std::cerr << "fsck.dedupfs: " << result.error().message() << '\n';
    return result.error().code() == ErrorCode::kCorruption ? kErrorsLeft : kOperationalError;
  }
  return *result;
}
