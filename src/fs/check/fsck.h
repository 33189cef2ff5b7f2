// The course of a check and of a repair, as fsck.dedupfs does them; see docs/repair.md.
//
// Threads: one at a time on a volume, which must not be mounted (kBusy).
// Failure: damage of the volume is in the report. An Error means that the check or repair could not be done: the volume is
//          unchanged, except for the `repaired` lines of the report. kInterrupted comes from FsckOptions::progress.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/backing.h"
#include "base/result.h"
#include "fs/check/index_repair.h"
#include "fs/check/lost_files.h"
#include "store/check/check_report.h"

namespace dedupfs {

struct FsckOptions {
  enum class Mode {
    kCheck,  // changes nothing
    kSafe,   // makes repairs that lose nothing
    kAll,
  };

  Mode mode = Mode::kCheck;
  bool verify_data = false;
  bool foreign = false;  // as root: others who can write to the volume are trusted
  // Gets every line when it is found: "error: ...", "lost: ...", "note: ...", "repaired: ...".
  std::function<void(const std::string&)> print = [](const std::string&) {};
  Progress progress = no_progress;
  // Called when another process has locked the volume. Returns whether to try again. It may wait.
  std::function<bool()> tries_lock_again = [] { return false; };
  // Asked after something was checked or rebuilt. An Error: reads failed for a reason that may pass, such as a network that is down. What they
  // found missing is no damage then: the run ends with that Error, and repairs nothing more.
  std::function<Result<void>()> all_was_read = [] { return Result<void>(); };
};

struct FsckReport {
  std::vector<std::string> lines;  // the printed lines, in order
  std::uint64_t errors_found = 0;
  std::uint64_t errors_left = 0;
  std::uint64_t repairs = 0;
  std::vector<LostFile> lost_files;  // all lost files, from this and earlier repairs
  // The volume afterwards:
  std::uint64_t inodes = 0;
  std::uint64_t directories = 0;
  std::uint64_t chunks = 0;
  std::uint64_t references = 0;

  bool is_clean() const { return errors_left == 0 && lost_files.empty(); }
  int exit_status() const;  // the exit status of fsck(8)
};

// Exit codes of fsck(8), which add up.
inline constexpr int kFsckCorrected = 1;
inline constexpr int kFsckErrorsLeft = 4;
inline constexpr int kFsckOperationalError = 8;
inline constexpr int kFsckUsageError = 16;
inline constexpr int kFsckCancelled = 32;

Result<FsckReport> run_fsck(const Path& volume, const FsckOptions& options,
                            const std::shared_ptr<Backing>& backing = Backing::posix());

// The document of fsck.dedupfs --json. Names in it are bytes that need not be UTF-8.
nlohmann::json to_json(const FsckReport& report, const Path& volume);
// The summary for people: the lost files and the totals.
std::string summary_of(const FsckReport& report, const Path& volume);

}  // namespace dedupfs
