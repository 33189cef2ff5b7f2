#include "dedupfs_scrub.h"

#include <nlohmann/json.hpp>

#include "base/size.h"
#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "job_progress.h"
#include "mount/clients/job_status.h"
#include "mount/control/control_jobs.h"
#include "mount/control/control_socket.h"
#include "mount/reports/scrub_report.h"
#include "mount/system/mount_table.h"
#include "rate.h"
#include "show.h"

namespace dedupfs::tools {
namespace {

constexpr const char* kScrub = "scrub";  // the name of the job in the daemon

struct ScrubArguments {
  std::string path;
  std::string rate = format_size(Scrubber::kDefaultBytesPerSecond);
  std::string new_rate;
  bool status = false;
  bool stop = false;
  bool wait = false;
};

Result<nlohmann::json> ask_scrub(const Path& volume, const nlohmann::json& request) {
  return ask_job(volume, kScrub, request);
}

// Shows how far it is.
Result<nlohmann::json> await_end(const Path& volume, const Console& console, const Process& process) {
  JobProgress progress(console, process);
  auto last = await_job(volume, kScrub, [&](const nlohmann::json& so_far) {
    if (progress.is_due()) show_job(progress, so_far, scrub_screen);
    return true;
  });
  progress.clear();
  return last;
}

Result<nlohmann::json> scrub(const ScrubArguments& asked, const Console& console, const Process& process) {
  DEDUPFS_ASSIGN(const std::uint64_t rate, parse_rate("--rate", asked.rate));
  DEDUPFS_ASSIGN(const std::uint64_t new_rate, asked.new_rate.empty() ? 0 : parse_rate("--set-rate", asked.new_rate));
  DEDUPFS_ASSIGN(const Path volume, find_whole_volume(asked.path));
  if (!asked.new_rate.empty()) return ask_scrub(volume, {{"action", "set_rate"}, {"bytes_per_second", new_rate}});
  if (asked.stop) return ask_scrub(volume, {{"action", "stop"}});
  if (!asked.status) {
    DEDUPFS_ASSIGN(const auto started, ask_scrub(volume, {{"action", "start"}, {"bytes_per_second", rate}}));
    if (!asked.wait) return started;
  }
  return asked.wait ? await_end(volume, console, process) : job_status(asked.path, volume, kScrub);
}

bool has_damage(const nlohmann::json& scrub) {
  const nlohmann::json& findings = scrub.at("running").get<bool>() ? scrub.at("current") : scrub.at("last");
  return !findings.is_null() && (findings.at("damaged_chunks") != 0 || findings.at("other_damage") != 0);
}

// Of one that was waited for: another user can stop it.
bool is_cut_off(const nlohmann::json& scrub) {
  const nlohmann::json& last = scrub.at("last");
  return !scrub.at("running").get<bool>() && !last.is_null() && !last.at("complete").get<bool>();
}

void define_options(Command& app, ScrubArguments& asked) {
  app.add_option("MOUNTPOINT", asked.path, "the mount point of the volume, or its folder").required();
  app.add_option("--rate", asked.rate, "read at most this many bytes a second, such as 50m; 0: no limit")
      .capture_default_str();
  const Option set_rate =
      app.add_option("--set-rate", asked.new_rate, "change the limit of the running scrub, start nothing");
  const Option status = app.add_flag("--status", asked.status, "show the progress, start nothing");
  const Option stop = app.add_flag("--stop", asked.stop, "stop the running scrub").excludes(status);
  set_rate.excludes(status).excludes(stop);
  app.add_flag("--wait", asked.wait, "return when the scrub has ended").excludes(stop);
  add_json_flag(app, "print one JSON object");
  define_progress_flag(app);
  define_common_options(app);
}

}  // namespace

int run_scrub(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process) {
  Console console({.name = "dedupfs-scrub", .usage_error = kUsageError, .failed = kFailed}, out, err);
  ScrubArguments asked;
  Command app("Checks all data of a mounted dedupfs volume in the background.", "dedupfs-scrub");
  app.example("dedupfs-scrub --wait /backup");
  define_options(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;

  const auto found = scrub(asked, console, process);
  if (!found)
    return console.fail(found.error(), found.error().code() == ErrorCode::kInvalidArgument ? kUsageError : kFailed);
  const auto code = read_answer([&] {
    if (has_damage(*found)) return kDamaged;
    return asked.wait && !asked.status && is_cut_off(*found) ? kUnfinished : kDone;
  });
  if (!code) return console.fail(code.error());
  return show(console, "dedupfs-scrub", *found, *code, scrub_screen);
}

}  // namespace dedupfs::tools
