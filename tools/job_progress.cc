#include "job_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

#include "command/command.h"
#include "fs/format/local_time.h"
#include "json/document.h"
#include "mount/control/control_socket.h"

namespace dedupfs::tools {
namespace {

constexpr std::chrono::milliseconds kTerminalInterval{200};
constexpr std::chrono::milliseconds kJsonInterval{1000};
constexpr double kMostSeconds = 1e9;  // shown as left

nlohmann::json json_of(const JobState& state) {
  return with_time({{"event", "progress"},
                    {"stage", state.stage},
                    {"item", or_null(state.item)},
                    {"items_done", or_null(state.items_done)},
                    {"items_total", or_null(state.items_total)},
                    {"done_bytes", or_null(state.done_bytes)},
                    {"total_bytes", or_null(state.total_bytes)},
                    {"percent", or_null(state.percent)},
                    {"bytes_per_second", or_null(state.bytes_per_second)},
                    {"seconds_left", or_null(state.seconds_left)}},
                   "time", std::time(nullptr));
}

std::optional<double> optional_number(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? std::nullopt : std::optional(found->get<double>());
}

// Of a reclaim or of a scrub. `bytes_per_second` is the limit of either.
std::optional<double> rate_of_job(const nlohmann::json& status) {
  const auto rate = optional_number(status, "swept_bytes_per_second");
  return rate ? rate : optional_number(status, "checked_bytes_per_second");
}

JobState state_of_job(const nlohmann::json& status) {
  const auto phase = status.find("phase");
  const bool has_phase = phase != status.end() && !phase->is_null();
  return {.stage = has_phase                          ? phase->get<std::string>()
                   : status.at("running").get<bool>() ? "running"
                                                      : "ended",
          .percent = optional_number(status, "progress_percent"),
          .bytes_per_second = rate_of_job(status),
          .seconds_left = optional_number(status, "seconds_left")};
}

}  // namespace

void define_progress_flag(Command& app) {
  app.add_flag("--progress", "with --json: print one JSON object a line, with the progress each second")
      .needs(app.get_option("--json"));
}

JobState state_of_copy(std::string stage, std::uint64_t done_bytes, std::uint64_t total_bytes, double seconds) {
  JobState state{.stage = std::move(stage), .done_bytes = done_bytes};
  const double rate = static_cast<double>(done_bytes) / std::max(0.001, seconds);
  state.bytes_per_second = rate;
  if (total_bytes == 0) return state;
  const auto left = static_cast<double>(total_bytes - std::min(total_bytes, done_bytes));
  state.total_bytes = total_bytes;
  state.percent = 100 - 100 * left / static_cast<double>(total_bytes);
  if (rate > 0) state.seconds_left = left / rate;
  return state;
}

std::string rate_and_time_left(const JobState& state) {
  std::string text;
  if (state.bytes_per_second) text += fmt::format(", {:.0f} MB/s", *state.bytes_per_second / 1e6);
  if (state.seconds_left && *state.seconds_left > 0) {
    const double left = std::min(std::ceil(*state.seconds_left), kMostSeconds);
    text += fmt::format(", {} left", duration_text(static_cast<std::uint64_t>(left)));
  }
  return text;
}

bool JobProgress::is_due() {
  const Clock::time_point now = Clock::now();
  if (!is_seen() || now < next_) return false;
  next_ = now + (is_terminal_ ? kTerminalInterval : kJsonInterval);
  return true;
}

void JobProgress::show(std::string_view line, const JobState& state) {
  if (console_.has_json_progress()) return console_.print_line("progress", json_of(state));
  if (!is_terminal_) return;
  console_.err() << kClear << line << std::flush;
  is_shown_ = true;
}

void JobProgress::clear() {
  if (std::exchange(is_shown_, false)) console_.err() << kClear << std::flush;
}

double percent_of(std::uint64_t done, std::uint64_t total) {
  return total == 0 ? 0 : 100 * static_cast<double>(std::min(done, total)) / static_cast<double>(total);
}

void show_job(JobProgress& progress, const nlohmann::json& status, std::string (*screen)(const nlohmann::json&)) {
  (void)read_answer([&] {
    const std::string lines = screen(status);
    progress.show(lines.substr(0, lines.find('\n')), state_of_job(status));
    return true;
  });
}

}  // namespace dedupfs::tools
