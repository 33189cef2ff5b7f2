// fsck.dedupfs: checks a volume that is not mounted, and repairs it.
#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <optional>

#include "exit_codes.h"
#include "fs/check/fsck.h"
#include "mount/control/closing_daemon.h"
#include "mount/system/in_time.h"
#include "stop_signals.h"
#include "store/check/feature_rebuild.h"
#include "store/format/format.h"

namespace {

using namespace dedupfs;  // NOLINT(google-build-using-namespace): a main

// As e2fsck does it: lines "pass current max volume" to a descriptor, or, to 0, a bar on the terminal.
class ProgressReport {
 public:
  ProgressReport(std::optional<int> descriptor, const Path& volume) : descriptor_(descriptor), volume_(volume) {}

  Result<void> operator()(int pass, std::uint64_t current, std::uint64_t max) {
    if (stop_was_asked_for != 0) return Error{ErrorCode::kInterrupted, "cancelled"};
    if (!descriptor_) return {};
    constexpr auto kInterval = std::chrono::milliseconds(250);
    const auto now = std::chrono::steady_clock::now();
    if (pass == pass_ && now - shown_at_ < kInterval) return {};
    pass_ = pass;
    shown_at_ = now;
    if (*descriptor_ != 0)
      write(*descriptor_, fmt::format("{} {} {} {}\n", pass, current, max, volume_.string()));
    else if (::isatty(STDERR_FILENO) != 0)
      show_bar(pass, current, max);
    return {};
  }

  // Leaves no bar behind.
  void clear() {
    if (is_bar_shown_) write(STDERR_FILENO, "\r\x1b[K");
    is_bar_shown_ = false;
  }

 private:
  static void write(int descriptor, const std::string& text) {
    (void)!::write(descriptor, text.data(), text.size());  // nobody reads it any more: no reason to stop
  }
  void show_bar(int pass, std::uint64_t current, std::uint64_t max) {
    constexpr std::uint64_t kWidth = 40;
    const std::uint64_t done = max == 0 ? 0 : std::min<std::uint64_t>(current * kWidth / max, kWidth);
    write(STDERR_FILENO,
          fmt::format("\rpass {} |{}{}|", pass, std::string(done, '='), std::string(kWidth - done, ' ')));
    is_bar_shown_ = true;
  }

  const std::optional<int> descriptor_;
  const Path volume_;
  int pass_ = 0;
  std::chrono::steady_clock::time_point shown_at_;
  bool is_bar_shown_ = false;
};

Result<int> check_or_repair(const Path& path, FsckOptions options, bool json, std::optional<int> progress_to) {
  ProgressReport progress(progress_to, path);
  options.progress = [&](int pass, std::uint64_t current, std::uint64_t max) { return progress(pass, current, max); };
  if (!json)
    options.print = [&](const std::string& line) {
      progress.clear();
      std::cout << line << std::endl;
    };
  ClosingDaemon closing(path);
  options.tries_lock_again = [&] { return closing.wait_for_lock(); };
  const auto report = run_fsck(path, options);
  progress.clear();
  if (!report) return report.error();
  std::cout << (json ? to_json(*report, path) + "\n" : summary_of(*report, path));
  if (!std::cout.flush()) return Error{ErrorCode::kIo, "cannot write what was found"};
  return report->exit_status();
}

Result<int> rebuild_features(const Path& path, bool foreign) {
  DEDUPFS_ASSIGN(const auto volume, when_closed(path, [&] { return Volume::open(path, {.foreign = foreign}); }));
  DEDUPFS_ASSIGN(const FeatureRebuild rebuilt, rebuild_feature_index(*volume));
  std::cout << fmt::format("{}: {} chunks are found by their features, {} could not be read\n", path.string(),
                           rebuilt.indexed, rebuilt.unreadable);
  return rebuilt.unreadable == 0 ? 0 : kFsckErrorsLeft;
}

// Else a file of the volume could get this number later, and progress would be written into it. 0 is the terminal.
bool is_open_for_writing(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return descriptor == 0 || (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY);
}

int exit_status_of(const Error& error) {
  if (error.code() == ErrorCode::kInterrupted) return kFsckCancelled;
  return error.code() == ErrorCode::kCorruption ? kFsckErrorsLeft : kFsckOperationalError;
}

}  // namespace

int main(int argc, char** argv) {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("fsck.dedupfs"));  // the report is on the standard output
  CLI::App app{"Checks a dedupfs volume that is not mounted, and repairs it."};
  std::string path;
  FsckOptions options;
  bool check_only = false;
  bool safe = false;
  bool all = false;
  bool accepted = false;
  bool json = false;
  std::optional<int> progress_to;
  auto* const modes = app.add_option_group("modes")->require_option(0, 1);
  const std::array mode_flags = {
      modes->add_flag("-n", check_only, "check, and change nothing (the default)"),
      modes->add_flag("-a,-p", safe, "repair what can be repaired without losing anything"),
      modes->add_flag("-y", all, "repair everything"),
  };
  app.add_flag("-f", accepted, "as fsck(8) passes it; it always checks");
  app.add_flag("--verify-data", options.verify_data, "read all data: every chunk against its fingerprint");
  app.add_flag("--foreign", options.foreign, std::string(kForeignHelp));
  app.add_flag("--json", json, "report as one JSON document");
  app.add_option("-C", progress_to, "progress to this descriptor; 0: a bar on the terminal")
      ->check(CLI::NonNegativeNumber);
  bool features = false;
  CLI::Option* const rebuild =
      app.add_flag("--rebuild-features", features, "instead, make the index anew in which near-duplicates are found");
  for (CLI::Option* const flag : mode_flags) rebuild->excludes(flag);
  app.add_option("VOLUME", path, "the volume")->required();
  app.set_version_flag("-V,--version", "fsck.dedupfs " DEDUPFS_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kFsckUsageError;
  }
  if (safe) options.mode = FsckOptions::Mode::kSafe;
  if (all) options.mode = FsckOptions::Mode::kAll;
  if (progress_to && !is_open_for_writing(*progress_to)) {
    std::cerr << "fsck.dedupfs: -C " << *progress_to << ": no such descriptor is open for writing\n";
    return kFsckUsageError;
  }
  if (const auto answered = stat_in_time(Path(path) / kSuperblockFile);
      !answered && answered.error().code() == ErrorCode::kInterrupted) {
    std::cerr << "fsck.dedupfs: " << answered.error().message() << '\n';
    return kFsckOperationalError;
  }
  await_closing_daemon(path);  // signals still end it here
  catch_stop_signals();
  const auto result =
      features ? rebuild_features(path, options.foreign) : check_or_repair(path, options, json, progress_to);
  if (!result) {
    std::cerr << "fsck.dedupfs: " << result.error().message() << '\n';
    return exit_status_of(result.error());
  }
  return *result;
}
