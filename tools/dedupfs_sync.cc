// dedupfs-sync: returns when everything that was written to a mounted volume is durable.
#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "exit_codes.h"
#include "mount/clients/sync_volume.h"

int main(int argc, char** argv) {
  std::vector<std::string> mounts;
  bool verbose = false;
  CLI::App app{
      "Makes everything that was written to a mounted dedupfs volume durable. sync(1) cannot do that: Linux does not "
      "pass it on to FUSE filesystems."};
  app.add_option("MOUNTPOINT", mounts, "where a volume is mounted, or the volume; several may be given")->required();
  app.add_flag("-v,--verbose", verbose, "say what is done");
  app.set_version_flag("-V,--version", "dedupfs-sync " DEDUPFS_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? dedupfs::kDone : dedupfs::kUsageError;
  }
  int status = dedupfs::kDone;
  for (const std::string& mount : mounts) {
    if (verbose) std::cerr << "dedupfs-sync: committing " << mount << std::endl;
    if (const auto synced = dedupfs::sync_volume(mount); !synced) {
      std::cerr << "dedupfs-sync: " << synced.error().message() << '\n';
      status = dedupfs::kFailed;
    }
  }
  return status;
}
