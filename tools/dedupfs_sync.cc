#include "dedupfs_sync.h"

#include <nlohmann/json.hpp>

#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "mount/clients/sync_volume.h"

namespace dedupfs::tools {

int run_sync(Arguments arguments, std::ostream& out, std::ostream& err) {
  Console console({.name = "dedupfs-sync", .usage_error = kUsageError, .failed = kFailed}, out, err);
  std::vector<std::string> mounts;
  bool verbose = false;
  Command app(
      "Makes all data that was written to a mounted dedupfs volume durable. sync(1) cannot do this: Linux does not "
      "pass it on to FUSE filesystems.",
      "dedupfs-sync");
  app.example("dedupfs-sync /backup");
  app.add_option("MOUNTPOINT", mounts, "the mount point of a volume, or its folder; several may be given").required();
  app.add_flag("-v,--verbose", verbose, "print each step");
  add_json_flag(app, "print one JSON object");
  define_common_options(app);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;

  int status = kDone;
  nlohmann::json done = nlohmann::json::array();
  for (const std::string& mount : mounts) {
    if (verbose) console.say("committing " + mount);
    const auto synced = sync_volume(mount);
    done.push_back({{"path", mount}, {"synced", synced.has_value()}, {"failure", nullptr}});
    if (synced) continue;
    console.say(synced.error().message());
    done.back()["failure"] = synced.error().message();
    status = kFailed;
  }
  if (console.as_json()) console.print("dedupfs-sync", {{"mounts", done}});
  return console.end(status);
}

}  // namespace dedupfs::tools
