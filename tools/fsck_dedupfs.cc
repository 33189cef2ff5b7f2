#include "fsck_dedupfs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "fs/check/fsck.h"
#include "job_progress.h"
#include "log_to.h"
#include "mount/control/closing_daemon.h"
#include "mount/system/in_time.h"
#include "store/check/feature_rebuild.h"
#include "store/format/format.h"
#include "store/seal/outside_view.h"
#include "store/volume/ownership.h"
#include "volume_disk.h"
#include "volume_key.h"

namespace dedupfs::tools {
namespace {

struct FsckArguments {
  std::string path;
  FsckOptions options;
  bool rebuild_features = false;
  KeyArguments key;
  std::optional<int> progress_to;  // a file descriptor; 0 is a bar on the terminal
};

// As e2fsck does it: lines "pass current max volume" to a descriptor, or a bar on the terminal.
class ProgressReport {
 public:
  ProgressReport(const FsckArguments& asked, const Console& console, const Process& process)
      : descriptor_(asked.progress_to),
        volume_(asked.path),
        console_(console),
        process_(process),
        lines_(console, process) {}

  Result<void> operator()(int pass, std::uint64_t current, std::uint64_t max) {
    if (process_.stop_was_asked_for()) return Error{ErrorCode::kInterrupted, "cancelled"};
    if (console_.has_json_progress() && lines_.is_due())
      lines_.show({}, {.stage = fmt::format("pass_{}", pass), .percent = percent_of(current, max)});
    if (!descriptor_) return {};
    constexpr auto kInterval = std::chrono::milliseconds(250);
    const auto now = std::chrono::steady_clock::now();
    if (pass == pass_ && now - shown_at_ < kInterval) return {};
    pass_ = pass;
    shown_at_ = now;
    if (*descriptor_ != 0)
      write_line(fmt::format("{} {} {} {}\n", pass, current, max, volume_));
    else if (process_.err_is_terminal)
      show_bar(pass, current, max);
    return {};
  }

  // Leaves no bar behind.
  void clear() {
    if (std::exchange(is_bar_shown_, false)) console_.err() << "\r\x1b[K" << std::flush;
  }

 private:
  void write_line(const std::string& line) const {
    (void)!::write(*descriptor_, line.data(),
                   line.size());  // the check goes on when nobody reads the progress any more
  }
  void show_bar(int pass, std::uint64_t current, std::uint64_t max) {
    constexpr std::uint64_t kWidth = 40;
    const std::uint64_t done = max == 0 ? 0 : std::min<std::uint64_t>(current * kWidth / max, kWidth);
    console_.err() << fmt::format("\rpass {} |{}{}|", pass, std::string(done, '='), std::string(kWidth - done, ' '))
                   << std::flush;
    is_bar_shown_ = true;
  }

  const std::optional<int> descriptor_;
  const std::string volume_;
  const Console& console_;
  const Process& process_;
  JobProgress lines_;
  int pass_ = 0;
  std::chrono::steady_clock::time_point shown_at_;
  bool is_bar_shown_ = false;
};

// What can be checked of an encrypted volume by somebody who has no key for it. It is not the check that was asked for, so the exit
// status says that, too. A volume that is in use grows meanwhile.
Result<int> check_without_key(const FsckArguments& asked, const Console& console) {
  DEDUPFS_ASSIGN(const auto folder, Volume::open_folder(asked.path, volume_disk(asked.options.foreign)));
  if (!asked.options.foreign) DEDUPFS_TRY(require_own(*folder));
  DEDUPFS_ASSIGN(const auto lock, Volume::lock(*folder, /*read_only=*/true));
  DEDUPFS_ASSIGN(const OutsideCheck found, check_from_outside(*folder));
  FsckReport report{.errors_found = found.errors.size(), .errors_left = found.errors.size()};
  for (const std::string& error : found.errors) report.lines.push_back("error: " + error);
  for (const std::string& note : found.notes) report.lines.push_back("note: " + note);
  report.lines.push_back(
      "note: the volume is encrypted, and no key was given: the key header, the folders and the lengths of " +
      std::to_string(found.files) + " files were checked, and nothing else; nothing is repaired");
  const int exit_status = report.exit_status() | kFsckOperationalError;
  if (console.as_json()) {
    nlohmann::json document = to_json(report, asked.path);
    document["exit_status"] = exit_status;
    console.print("fsck.dedupfs", std::move(document));
    return exit_status;
  }
  for (const std::string& line : report.lines) console.out() << printable(line) << '\n';
  return exit_status;
}

Result<int> check_or_repair(FsckArguments asked, const Console& console, const Process& process) {
  ProgressReport progress(asked, console, process);
  FsckOptions& options = asked.options;
  options.progress = [&](int pass, std::uint64_t current, std::uint64_t max) { return progress(pass, current, max); };
  if (!console.as_json())
    options.print = [&](const std::string& line) {
      progress.clear();
      console.out() << line << std::endl;
    };
  ClosingDaemon closing(asked.path);
  options.tries_lock_again = [&] { return closing.wait_for_lock(); };
  options.all_was_read = check_volume_disk;
  if (find_key_header(asked.path) && !can_get_passphrase(asked.key)) return check_without_key(asked, console);
  const auto report =
      dedupfs::run_fsck(asked.path, options, keyed_backing(asked.key, options.foreign, SealedTree::accept));
  progress.clear();
  if (!report) return report.error();
  if (console.as_json())
    console.print("fsck.dedupfs", to_json(*report, asked.path));
  else
    console.out() << summary_of(*report, asked.path);
  return report->exit_status();
}

Result<int> rebuild_similarity_index(const FsckArguments& asked, const Console& console) {
  const Path path = asked.path;
  const auto backing = keyed_backing(asked.key, asked.options.foreign);
  DEDUPFS_ASSIGN(const auto volume,
                 when_closed(path, [&] { return Volume::open(path, {.foreign = asked.options.foreign}, backing); }));
  DEDUPFS_ASSIGN(const FeatureRebuild rebuilt, rebuild_feature_index(*volume));
  if (console.as_json())
    console.print(
        "fsck.dedupfs-rebuild-features",
        {{"volume", path.string()}, {"indexed_chunks", rebuilt.indexed}, {"unreadable_chunks", rebuilt.unreadable}});
  else
    console.out() << fmt::format("{}: the similarity index is rebuilt: {} chunks are in it, {} could not be read\n",
                                 path.string(), rebuilt.indexed, rebuilt.unreadable);
  return rebuilt.unreadable == 0 ? 0 : kFsckErrorsLeft;
}

// Refuses a number that a file of the volume could get later: progress would be written into that file. 0 is the terminal.
Result<void> check_progress_descriptor(std::optional<int> descriptor) {
  if (!descriptor || *descriptor == 0) return {};
  const int flags = ::fcntl(*descriptor, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) return {};
  return invalid_argument(fmt::format("-C {}: this file descriptor is not open for writing", *descriptor));
}

// A filesystem that does not answer would hang the check.
Result<void> check_that_it_answers(const Path& path) {
  const auto answered = stat_in_time(path / kSuperblockFile);
  if (!answered && answered.error().code() == ErrorCode::kInterrupted) return answered.error();
  return {};
}

int exit_code_of(const Error& error) {
  if (error.code() == ErrorCode::kInterrupted) return kFsckCancelled;
  return error.code() == ErrorCode::kCorruption ? kFsckErrorsLeft : kFsckOperationalError;
}

void define_options(Command& app, FsckArguments& asked) {
  FsckOptions& options = asked.options;
  const auto choose = [&options](FsckOptions::Mode mode) { return [&options, mode] { options.mode = mode; }; };
  Command& modes = app.add_option_group("modes", "at most one of these");
  modes.require_option(0, 1);
  const std::array mode_flags = {
      modes.add_flag_callback("-n", choose(FsckOptions::Mode::kCheck), "check only, change nothing (the default)"),
      modes.add_flag_callback("-a,-p", choose(FsckOptions::Mode::kSafe), "repair only where nothing gets lost"),
      modes.add_flag_callback("-y", choose(FsckOptions::Mode::kAll), "repair everything"),
  };
  app.add_flag_callback(
      "-f", [] {}, "accepted for fsck(8), no effect: the check is never skipped");
  app.add_flag("--verify-data", options.verify_data, "read all data too, and compare each chunk with its fingerprint");
  app.add_flag("--foreign", options.foreign, std::string(kForeignHelp));
  define_key_options(app, asked.key);
  add_json_flag(app, "print the report as one JSON document");
  define_progress_flag(app);
  app.add_option("-C", asked.progress_to, "write progress to this file descriptor; 0: draw a bar on the terminal")
      .not_negative();
  const Option rebuild =
      app.add_flag("--rebuild-features", asked.rebuild_features, "do not check; rebuild the similarity index instead");
  for (const Option& flag : mode_flags) rebuild.excludes(flag);
  app.add_option("VOLUME", asked.path, "the folder of the volume").required();
  define_common_options(app);
}

}  // namespace

int run_fsck(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process) {
  Console console({.name = "fsck.dedupfs", .usage_error = kFsckUsageError, .failed = kFsckOperationalError}, out, err);
  const LogTo log(err, "fsck.dedupfs", spdlog::level::info);
  FsckArguments asked;
  Command app("Checks a dedupfs volume that is not mounted, and repairs it.", "fsck.dedupfs");
  app.example("fsck.dedupfs /srv/volume");
  define_options(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;
  if (const auto usable = check_progress_descriptor(asked.progress_to); !usable)
    return console.fail(usable.error(), kFsckUsageError);
  if (const auto answers = check_that_it_answers(asked.path); !answers) return console.fail(answers.error());

  await_closing_daemon(asked.path);  // signals still end the process here
  process.catch_stop_signals();
  const auto result =
      asked.rebuild_features ? rebuild_similarity_index(asked, console) : check_or_repair(asked, console, process);
  if (!result) return console.fail(result.error(), exit_code_of(result.error()));
  return console.end(*result);
}

}  // namespace dedupfs::tools
