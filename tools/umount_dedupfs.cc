#include "umount_dedupfs.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "mount/clients/unmount_volume.h"

namespace dedupfs::tools {

int run_umount(Arguments arguments, std::ostream& out, std::ostream& err) {
  Console console({.name = "umount.dedupfs", .usage_error = kUsageError, .failed = kUnmountFailed}, out, err);
  std::string target, ignored_value;
  bool force = false, lazy = false, read_only = false, verbose = false, ignored_flag = false;
  unsigned timeout_seconds = 600;
  Command app("Unmounts a dedupfs volume and returns when everything is on disk.", "umount.dedupfs");
  app.example("umount.dedupfs /backup");
  define_common_options(app);
  app.add_option("MOUNTPOINT", target, "the mount point of the volume, or its folder").required();
  app.add_flag("-f,--force", force, "unmount even if changes cannot be made durable: they are lost");
  app.add_flag("-l,--lazy", lazy, "detach now and do not wait; the daemon ends when the last file is closed");
  app.add_flag("-r,--read-only", read_only, "if the volume is in use, make it read-only instead");
  app.add_flag("-v,--verbose", verbose, "print each step");
  app.add_option("--timeout", timeout_seconds, "wait at most this long for the daemon or the kernel (default 600)")
      .type_name("SECONDS")
      .in_range(1U, 1'000'000U);
  add_json_flag(app, "print one JSON object");
  app.add_flag("-n", ignored_flag, "accepted for umount(8), no effect");
  app.add_option("-N", ignored_value, "accepted for umount(8), no effect");
  app.add_option("-t", ignored_value, "accepted for umount(8), no effect");
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;

  const UnmountMode mode = lazy ? UnmountMode::kLazy : force ? UnmountMode::kForce : UnmountMode::kNormal;
  const auto say = [&](const std::string& line) { console.say(line); };
  const auto result = unmount_volume({.target = target,
                                      .mode = mode,
                                      .read_only_on_failure = read_only,
                                      .patience = {std::chrono::seconds(timeout_seconds), say},
                                      .verbose = verbose});
  if (result) {
    const auto& elsewhere = result->elsewhere;
    if (elsewhere)
      console.say(printable(
          fmt::format("{} is unmounted, and {} is the same mount: its daemon goes on, and the volume is in use", target,
                      elsewhere->string())));
    if (console.as_json())
      console.print("umount.dedupfs",
                    {{"target", target},
                     {"outcome", lazy        ? "detached"
                                 : elsewhere ? "mounted_elsewhere"
                                             : "unmounted"},
                     {"elsewhere", elsewhere ? nlohmann::json(elsewhere->string()) : nlohmann::json(nullptr)}});
    return console.end(elsewhere ? kMountedElsewhere : kDone);
  }
  const bool is_unmounted = result.error().code() == ErrorCode::kInterrupted;
  return console.fail(result.error(), is_unmounted ? kUnmountUnfinished : kUnmountFailed);
}

}  // namespace dedupfs::tools
