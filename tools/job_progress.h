// How far a long job is: one line on the terminal, or with --json --progress one line of JSON a second. Nothing if neither is there.
//
// Threads: one.
// Ownership: refers to the console.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "console.h"
#include "process.h"

namespace dedupfs::tools {

class Command;

// The help and the name of the flag are the same with every tool. `json` is added before.
void define_progress_flag(Command& app);

// What is not known is left out; in JSON it is null.
struct JobState {
  std::string stage;                        // what is done now, a name for programs
  std::optional<std::string> item;          // what it is done to: an archive
  std::optional<std::uint64_t> items_done;  // entries, archives
  std::optional<std::uint64_t> items_total;
  std::optional<std::uint64_t> done_bytes;
  std::optional<std::uint64_t> total_bytes;
  std::optional<double> percent;
  std::optional<double> bytes_per_second;
  std::optional<double> seconds_left;
};

// With rate and time left, from what was done in these seconds. `total_bytes` 0: not known.
JobState state_of_copy(std::string stage, std::uint64_t done_bytes, std::uint64_t total_bytes, double seconds);
// ", 95 MB/s, 2 minutes left", or as much of it as is known.
std::string rate_and_time_left(const JobState& state);

// 0 of nothing; never more than 100.
double percent_of(std::uint64_t done, std::uint64_t total);

class JobProgress {
 public:
  JobProgress(const Console& console, const Process& process)
      : console_(console), is_terminal_(process.err_is_terminal && !console.has_json_progress()) {}

  // Whether somebody sees it at all.
  bool is_seen() const { return is_terminal_ || console_.has_json_progress(); }
  // Whether it is time for the next one. True once in each interval.
  bool is_due();
  // The next one is due at once, since something else begins.
  void begin_stage() { next_ = Clock::time_point(); }
  // `line` on the terminal in place of the one before, or `state` as JSON.
  void show(std::string_view line, const JobState& state);
  // Leaves no line on the terminal.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::string_view kClear = "\r\x1b[K";

  const Console& console_;
  const bool is_terminal_;
  bool is_shown_ = false;
  Clock::time_point next_;
};

// Shows a background job of a daemon by its status, the object of scrub_json() or reclaim_json(). `screen` makes lines of it; the
// first one is shown. A status of another form is not shown.
void show_job(JobProgress& progress, const nlohmann::json& status, std::string (*screen)(const nlohmann::json&));

}  // namespace dedupfs::tools
