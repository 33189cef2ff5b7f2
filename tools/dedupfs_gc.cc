#include "dedupfs_gc.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "job_progress.h"
#include "log_to.h"
#include "mount/clients/job_status.h"
#include "mount/clients/reclaim_volume.h"
#include "mount/control/control_jobs.h"
#include "mount/control/control_socket.h"
#include "mount/reports/reclaim_report.h"
#include "mount/system/mount_table.h"
#include "rate.h"
#include "show.h"
#include "volume_key.h"

namespace dedupfs::tools {
namespace {

constexpr const char* kReclaim = "reclaim";  // the name of the job in the daemon

struct GcArguments {
  std::string path;
  std::string action = "start";
  std::string rate;  // empty: as it is
  bool settle = false;
  bool wait = false;
  bool foreign = false;
  KeyArguments key;
};

// One reclaim, or one question about it.
class Gc {
 public:
  Gc(GcArguments asked, const Console& console, const Process& process)
      : asked_(std::move(asked)), console_(console), process_(process), progress_(console, process) {}

  int run() {
    const auto reclaim = act();
    progress_.clear();
    if (!reclaim) {
      const bool is_misuse = reclaim.error().code() == ErrorCode::kInvalidArgument;
      return console_.fail(reclaim.error(), is_misuse ? kUsageError : kFailed);
    }
    const auto exit_code = read_answer([&] { return exit_code_of(*reclaim); });
    return exit_code ? show(console_, "dedupfs-gc", *reclaim, *exit_code, reclaim_screen)
                     : console_.fail(exit_code.error());
  }

 private:
  Result<nlohmann::json> act() {
    if (asked_.wait) process_.catch_stop_signals();
    DEDUPFS_ASSIGN(const Path volume, find_whole_volume(asked_.path));
    if (asked_.action == "status" && !asked_.wait) {
      auto status = job_status(asked_.path, volume, kReclaim);
      if (status || status.error().code() != ErrorCode::kNotFound) return status;
    }
    std::uint64_t rate = 0;
    if (!asked_.rate.empty()) {
      DEDUPFS_ASSIGN(rate, parse_rate(asked_.action == "start" ? "--rate" : "--set-rate", asked_.rate));
      auto set = ask_job(volume, kReclaim, {{"action", "set_rate"}, {"bytes_per_second", rate}});
      if (!set && set.error().code() != ErrorCode::kNotFound) return set.error();
      if (set && asked_.action != "start") return set;
    }
    auto answer = ask_job(volume, kReclaim, {{"action", asked_.settle ? "settle" : asked_.action}});
    if (answer) return asked_.wait ? await_end(volume, *answer) : answer;
    if (answer.error().code() != ErrorCode::kNotFound) return answer.error();
    if (asked_.action == "start") return reclaim_unmounted(volume, rate);
    const auto table = read_mount_table();
    if (table && find_dedupfs_mount(*table, volume)) return answer.error();  // mounted, but without a control socket
    return Error{ErrorCode::kNotFound, volume.string() +
                                           " is not mounted, so no reclaim or settling runs in the background: --" +
                                           asked_.action + " needs a mounted volume"};
  }

  Result<nlohmann::json> reclaim_unmounted(const Path& volume, std::uint64_t rate) {
    const LogTo log(console_.err(), "dedupfs-gc", spdlog::level::warn);
    process_.catch_stop_signals();
    const auto status = reclaim_volume(
        volume, asked_.settle ? ReclaimGoal::kSettle : ReclaimGoal::kFreeSpace, asked_.foreign,
        [&](const ReclaimStatus& so_far) { return goes_on(reclaim_json(so_far)); }, rate,
        keyed_backing(asked_.key, asked_.foreign));
    if (!status) return status.error();
    return reclaim_json(*status);
  }

  // The daemon has given `answer`. It goes on with the reclaim when nobody waits any longer.
  Result<nlohmann::json> await_end(const Path& volume, const nlohmann::json& answer) {
    DEDUPFS_ASSIGN(const bool running, read_answer([&] { return answer.at("running").get<bool>(); }));
    if (!running && asked_.action != "start")
      console_.say("no reclaim or settling is running: there is nothing to wait for");
    return await_job(volume, kReclaim, [&](const nlohmann::json& so_far) { return goes_on(so_far); });
  }

  bool goes_on(const nlohmann::json& so_far) {
    if (progress_.is_due()) show_job(progress_, so_far, reclaim_screen);
    return !process_.stop_was_asked_for();
  }

  int exit_code_of(const nlohmann::json& reclaim) const {
    if (!reclaim.at("running").get<bool>())
      return asked_.action == "start" || asked_.wait ? exit_code_of_ended(reclaim.at("last")) : kDone;
    if (!asked_.wait) return kDone;
    const bool is_settling = reclaim.at("current").value("goal", std::string()) == "settle";
    console_.say(std::string("interrupted: the ") + (is_settling ? "settling " : "reclaim ") +
                 (reclaim.at("paused").get<bool>() ? "stays paused" : "goes on") +
                 " in the daemon (--status shows its progress, --stop stops it)");
    return kUnfinished;
  }

  static int exit_code_of_ended(const nlohmann::json& last) {
    if (last.is_null() || last.at("complete").get<bool>()) return kDone;
    return last.at("error").is_null() ? kUnfinished : kFailed;
  }

  const GcArguments asked_;
  const Console& console_;
  const Process& process_;
  JobProgress progress_;
};

void define_options(Command& app, GcArguments& asked) {
  app.add_option("MOUNTPOINT|VOLUME", asked.path, "the mount point of the volume, or its folder").required();
  const Option settle =
      app.add_flag("--settle", asked.settle, "instead of freeing space, compress landed data for good");
  const Option wait = app.add_flag("--wait", asked.wait, "return when the reclaim has ended");
  const Option rate =
      app.add_option("--rate", asked.rate, "move at most this many bytes of data a second, such as 20m; 0: no limit")
          .type_name("SIZE");
  Command& actions = app.add_option_group("actions", "instead of starting a reclaim");
  actions.require_option(0, 1);
  const auto add_action = [&](const std::string& action, const std::string& meaning) {
    return actions
        .add_flag_callback(
            "--" + action, [&asked, action] { asked.action = action; }, meaning)
        .excludes(rate);
  };
  actions
      .add_option_function(
          "--set-rate",
          [&asked](const std::string& text) {
            asked.action = "set-rate";
            asked.rate = text;
          },
          "change that limit for the running job and later ones")
      .type_name("SIZE")
      .excludes(rate)
      .excludes(wait)
      .excludes(settle);
  add_action("status", "show the progress").excludes(settle);
  add_action("pause", "pause the running job and disable automatic ones").excludes(wait).excludes(settle);
  add_action("resume", "resume the paused job and enable automatic ones").excludes(settle);
  add_action("stop", "stop the running job").excludes(wait).excludes(settle);
  app.add_flag("--foreign", asked.foreign, std::string(kForeignHelp));
  define_key_options(app, asked.key);
  add_json_flag(app, "print one JSON object");
  define_progress_flag(app);
  define_common_options(app);
}

}  // namespace

int run_gc(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process) {
  Console console({.name = "dedupfs-gc", .usage_error = kUsageError, .failed = kFailed}, out, err);
  GcArguments asked;
  Command app("Frees the disk space of deleted data in a dedupfs volume, or settles new data.", "dedupfs-gc");
  app.example("dedupfs-gc --wait /backup");
  define_options(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;
  return Gc(std::move(asked), console, process).run();
}

}  // namespace dedupfs::tools
