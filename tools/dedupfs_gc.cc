// dedupfs-gc: gives back the space of what was deleted; asks the daemon of a mounted volume, and does it itself where there is
// none.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "exit_codes.h"
#include "mount/clients/reclaim_volume.h"
#include "mount/control/control_jobs.h"
#include "mount/control/control_socket.h"
#include "mount/reports/reclaim_report.h"
#include "mount/system/mount_table.h"
#include "stop_signals.h"

namespace {

using namespace dedupfs;  // NOLINT(google-build-using-namespace): a main
using Json = nlohmann::json;

const std::string kJob = "reclaim";

struct Asked {
  std::string path;
  std::string action = "start";
  bool wait = false;
  bool as_json = false;
  bool foreign = false;
};

// One line on the terminal, if there is one.
class ProgressLine {
 public:
  void show(const Json& reclaim) {
    if (::isatty(STDERR_FILENO) == 0) return;
    const std::string screen = reclaim_screen(reclaim);
    std::cerr << kClear << screen.substr(0, screen.find('\n')) << std::flush;
    is_shown_ = true;
  }
  void clear() {
    if (std::exchange(is_shown_, false)) std::cerr << kClear << std::flush;
  }

 private:
  static constexpr std::string_view kClear = "\r\x1b[K";

  bool is_shown_ = false;
};

Result<Json> reclaim_unmounted(const Path& volume, bool foreign, ProgressLine& progress) {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("dedupfs-gc"));
  spdlog::set_level(spdlog::level::warn);
  catch_stop_signals();
  const auto status = reclaim_volume(volume, foreign, [&](const ReclaimStatus& so_far) {
    progress.show(reclaim_json(so_far));
    return stop_was_asked_for == 0;
  });
  if (!status) return status.error();
  return reclaim_json(*status);
}

// Of one in a daemon, which gave this answer and goes on when nobody waits any longer.
Result<Json> await_end(const Path& volume, const Asked& asked, const Json& answer, ProgressLine& progress) {
  DEDUPFS_ASSIGN(const bool running, read_answer([&] { return answer.at("running").get<bool>(); }));
  if (!running && asked.action != "start") std::cerr << "dedupfs-gc: no reclaim is running that could be waited for\n";
  return await_job(volume, kJob, [&](const Json& so_far) {
    progress.show(so_far);
    return stop_was_asked_for == 0;
  });
}

Result<Json> run(const Asked& asked, ProgressLine& progress) {
  if (asked.wait) catch_stop_signals();
  DEDUPFS_ASSIGN(const Path volume, find_whole_volume(asked.path));
  auto answer = ask_job(volume, kJob, {{"action", asked.action}});
  if (answer) return asked.wait ? await_end(volume, asked, *answer, progress) : answer;
  if (answer.error().code() != ErrorCode::kNotFound) return answer.error();
  if (asked.action != "start")
    return Error{ErrorCode::kNotFound, volume.string() + " is not mounted: no reclaim runs that could be told to " +
                                           (asked.action == "status" ? "show how far it is" : asked.action)};
  return reclaim_unmounted(volume, asked.foreign, progress);
}

// Of a reclaim that was to be seen to its end, and none is running now.
int exit_status_of(const Json& reclaim) {
  const Json& last = reclaim.at("last");
  if (last.is_null() || last.at("complete").get<bool>()) return kDone;
  return last.at("error").is_null() ? kUnfinished : kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  Asked asked;
  CLI::App app{"Gives back the space of what was deleted from a dedupfs volume."};
  app.add_option("MOUNTPOINT|VOLUME", asked.path, "where the volume is mounted, or the volume")->required();
  CLI::Option* const wait = app.add_flag("--wait", asked.wait, "return when it has ended");
  auto* const actions = app.add_option_group("actions", "instead of starting one")->require_option(0, 1);
  const auto add_action = [&](const std::string& action, const std::string& meaning) {
    return actions->add_flag_callback(
        "--" + action, [&asked, action] { asked.action = action; }, meaning);
  };
  add_action("status", "show how far it is");
  add_action("pause", "let the one that runs rest, and begin none by itself")->excludes(wait);
  add_action("resume", "go on");
  add_action("stop", "stop the one that runs")->excludes(wait);
  app.add_flag("--foreign", asked.foreign, std::string(kForeignHelp));
  app.add_flag("--json", asked.as_json, "print one JSON object");
  app.set_version_flag("-V,--version", "dedupfs-gc " DEDUPFS_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsageError;
  }
  ProgressLine progress;
  const auto reclaim = run(asked, progress);
  progress.clear();
  if (!reclaim) {
    std::cerr << "dedupfs-gc: " << reclaim.error().message() << '\n';
    return kFailed;
  }
  std::cout << (asked.as_json ? reclaim->dump(2) + "\n" : reclaim_screen(*reclaim)) << std::flush;
  if (!std::cout) return kFailed;
  if (!reclaim->at("running").get<bool>())
    return asked.action == "start" || asked.wait ? exit_status_of(*reclaim) : kDone;
  if (!asked.wait) return kDone;
  std::cerr << "dedupfs-gc: interrupted; the reclaim " << (reclaim->at("paused").get<bool>() ? "stays" : "goes on")
            << " in the daemon: --status shows how far it is, --stop stops it\n";
  return kUnfinished;
}
