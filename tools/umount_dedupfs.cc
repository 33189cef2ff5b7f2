// umount.dedupfs(8): unmounts a volume and returns when everything is durable. As umount.fuse.dedupfs a helper of umount(8).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <string>

#include "exit_codes.h"
#include "mount/clients/unmount_volume.h"

namespace dedupfs {
namespace {

int run(int argc, char** argv) {
  std::string target, ignored_value;
  bool force = false, lazy = false, read_only = false, verbose = false, ignored_flag = false;
  unsigned timeout_seconds = 600;
  CLI::App app("Unmounts a volume of dedupfs; when it returns, all is on disk.");
  app.set_version_flag("-V,--version", "umount.dedupfs " DEDUPFS_VERSION);
  app.add_option("MOUNTPOINT", target, "where the volume is mounted, or the volume")->required();
  app.add_flag("-f,--force", force, "unmount though changes cannot be made durable");
  app.add_flag("-l,--lazy", lazy, "detach now; the rest when the last file is closed. Does not wait");
  app.add_flag("-r,--read-only", read_only, "if it is in use, make it read-only");
  app.add_flag("-v,--verbose", verbose, "say what is done");
  app.add_option("--timeout", timeout_seconds, "wait no longer than this for the daemon or the kernel (default 600)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1U, 1'000'000U));
  app.add_flag("-n", ignored_flag, "as umount(8) passes it on: nothing");
  app.add_option("-N", ignored_value, "as umount(8) passes it on: nothing");
  app.add_option("-t", ignored_value, "as umount(8) passes it on: nothing");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsageError;
  }
  const UnmountMode mode = lazy ? UnmountMode::kLazy : force ? UnmountMode::kForce : UnmountMode::kNormal;
  const auto say = [](const std::string& line) { fmt::print(stderr, "umount.dedupfs: {}\n", line); };
  const auto result = unmount_volume({.target = target,
                                      .mode = mode,
                                      .read_only_on_failure = read_only,
                                      .patience = {std::chrono::seconds(timeout_seconds), say},
                                      .verbose = verbose});
  if (result) return kDone;
  say(result.error().message());
  return result.error().code() == ErrorCode::kInterrupted ? kUnmountUnfinished : kUnmountFailed;
}

}  // namespace
}  // namespace dedupfs

int main(int argc, char** argv) {
  return dedupfs::run(argc, argv);
}
