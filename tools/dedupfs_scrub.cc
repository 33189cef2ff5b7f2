// dedupfs-scrub: starts, watches and stops the scrub of a mounted volume.
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/size.h"
#include "exit_codes.h"
#include "mount/control/control_jobs.h"
#include "mount/reports/scrub_report.h"
#include "mount/system/mount_table.h"

namespace {

using namespace dedupfs;  // NOLINT(google-build-using-namespace): a main
using Json = nlohmann::json;

struct Asked {
  std::string path;
  std::string rate = format_size(Scrubber::kDefaultBytesPerSecond);
  bool status = false;
  bool stop = false;
  bool wait = false;
  bool as_json = false;
};

Result<Json> ask(const Path& volume, const Json& request) {
  return ask_job(volume, "scrub", request);
}

Result<Json> run(const Asked& asked) {
  const auto rate = parse_size(asked.rate);
  if (!rate) return Error{ErrorCode::kInvalidArgument, "--rate: '" + asked.rate + "' is not a size"};
  DEDUPFS_ASSIGN(const Path volume, find_whole_volume(asked.path));
  if (asked.stop) return ask(volume, {{"action", "stop"}});
  if (!asked.status) {
    DEDUPFS_ASSIGN(const Json started, ask(volume, {{"action", "start"}, {"bytes_per_second", *rate}}));
    if (!asked.wait) return started;
  }
  return asked.wait ? await_job(volume, "scrub") : ask(volume, {{"action", "status"}});
}

bool has_damage(const Json& scrub) {
  const Json& findings = scrub.at("running").get<bool>() ? scrub.at("current") : scrub.at("last");
  return !findings.is_null() && (findings.at("damaged_chunks") != 0 || findings.at("other_damage") != 0);
}

}  // namespace

int main(int argc, char** argv) {
  Asked asked;
  CLI::App app{"Reads and verifies all that a mounted dedupfs volume holds, in the background."};
  app.add_option("MOUNTPOINT", asked.path, "where the volume is mounted, or the volume")->required();
  app.add_option("--rate", asked.rate, "bytes a second at most, as 50m; 0: as fast as it goes")->capture_default_str();
  CLI::Option* const status = app.add_flag("--status", asked.status, "start nothing, show how far it is");
  CLI::Option* const stop = app.add_flag("--stop", asked.stop, "stop the one that runs")->excludes(status);
  app.add_flag("--wait", asked.wait, "return when it has ended")->excludes(stop);
  app.add_flag("--json", asked.as_json, "print one JSON object");
  app.set_version_flag("-V,--version", "dedupfs-scrub " DEDUPFS_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsageError;
  }
  const auto scrub = run(asked);
  if (!scrub) {
    std::cerr << "dedupfs-scrub: " << scrub.error().message() << '\n';
    return scrub.error().code() == ErrorCode::kInvalidArgument ? kUsageError : kFailed;
  }
  std::cout << (asked.as_json ? scrub->dump(2) + "\n" : scrub_screen(*scrub)) << std::flush;
  return !std::cout ? kFailed : has_damage(*scrub) ? kDamaged : kDone;
}
