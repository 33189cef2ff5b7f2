#include "dedupfs_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/size.h"
#include "command/command.h"
#include "command/common_options.h"
#include "estimate_comparison.h"
#include "estimate_sample.h"
#include "estimate_versions.h"
#include "exit_codes.h"
#include "fs/estimate/estimate.h"
#include "fs/format/local_time.h"
#include "job_progress.h"
#include "log_to.h"
#include "mount/options/memory_limits.h"
#include "mount/options/mount_options.h"
#include "mount/reports/statistics_report.h"
#include "volume_settings.h"

namespace dedupfs::tools {
namespace {

constexpr std::uint64_t kMostMemoryByDefault = std::uint64_t{4} << 30;

struct EstimateArguments {
  std::vector<std::string> paths;
  VolumeSettingsArguments settings;
  std::string memory;
  bool one_filesystem = false;
  bool compares = false;
  bool are_versions = false;
  std::string sample;
};

Result<std::uint64_t> memory_for(const std::string& asked) {
  if (asked.empty()) return std::min(kMostMemoryByDefault, available_memory() / 2);
  const auto bytes = parse_size(asked);
  if (!bytes) return bytes.error().with("--memory");
  return *bytes;
}

// As a mount without options has them.
Result<EstimateSettings> settings_of(const EstimateArguments& asked) {
  const MountOptions mount;
  const MemoryLimits limits = memory_limits_for(memory_of_machine(), std::thread::hardware_concurrency());
  EstimateSettings settings{.roots = {asked.paths.begin(), asked.paths.end()},
                            .one_filesystem = asked.one_filesystem,
                            .by_version = asked.are_versions};
  DEDUPFS_ASSIGN(settings.scratch.volume, parse_volume_settings(asked.settings));
  DEDUPFS_ASSIGN(settings.scratch.memory_bytes, memory_for(asked.memory));
  VolumeOptions& volume = settings.scratch.volume_options;
  volume.index_memory_bytes = limits.index;
  volume.cache_bytes = limits.cache;
  volume.waiting_region_bytes = limits.waiting_regions;
  FilesystemOptions& filesystem = settings.scratch.filesystem;
  filesystem.dirty_bytes = limits.dirty;
  filesystem.group_bytes = limits.group;
  filesystem.defragment_percent = static_cast<unsigned>(mount.defragment_percent);
  return settings;
}

// The object of dedupfs-stat, without what only a volume on a disk has.
nlohmann::json volume_json(const Statistics& statistics, const Superblock& superblock) {
  nlohmann::json json = statistics_json(statistics, superblock, {}, std::nullopt, false);
  for (const char* const key : {"uuid", "label", "mounted", "scrub", "reclaim", "freed_bytes", "last_snapshot",
                                "last_snapshot_unix_seconds", "quotas", "encryption", "remote", "kernel"})
    json.erase(key);
  return json;
}

// What was read, and whether that was all.
nlohmann::json completeness_json(const Estimate& found) {
  return {{"complete", found.complete},
          {"read_bytes", found.read_bytes},
          {"unreadable_files", found.problems.unreadable},
          {"changed_files", found.problems.changed}};
}

nlohmann::json json_of(const Estimate& found) {
  nlohmann::json json = volume_json(found.copied, found.superblock);
  json.update(completeness_json(found));
  json["copy_seconds"] = found.copy_seconds;
  json["scratch_bytes"] = found.peak_scratch_bytes;
  json["settled"] = found.settled ? volume_json(*found.settled, found.superblock) : nlohmann::json(nullptr);
  return json;
}

// What a mount would need to do the same. The estimate has its caches and its threads, and the content of the volume on top. Only of the
// first estimate of a process: this is the most that it ever took.
std::uint64_t memory_of_mount(const Estimate& found) {
  constexpr std::string_view kPeak =
      "VmHWM:";  // not that of getrusage(2), which has what the caller had before the exec
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line) && !line.starts_with(kPeak)) {
  }
  const std::uint64_t peak = line.starts_with(kPeak) ? std::stoull(line.substr(kPeak.size())) << 10 : 0;
  return peak - std::min(peak, found.peak_scratch_bytes);
}

std::string size_and_ratio(const Statistics& statistics) {
  return fmt::format("{} ({:.2f} : 1)", human_size(statistics.disk_bytes), statistics.total_ratio());
}

std::string screen_of(const Estimate& found, std::uint64_t mount_memory_bytes) {
  const Statistics& last = found.settled ? *found.settled : found.copied;
  std::string text =
      fmt::format("{}{} in {} would take {}", found.complete ? "" : "The first ", human_size(last.logical_bytes),
                  last.files == 1 ? "1 file" : fmt::format("{} files", last.files), size_and_ratio(found.copied));
  if (found.settled && found.copied.landed_bytes != 0)
    text += fmt::format(" right after the copy, and {} once settled", size_and_ratio(*found.settled));
  text += fmt::format(",\nof which deduplication {:.2f}, deltas {:.2f}, compression {:.2f}.\n", last.dedup_ratio(),
                      last.delta_compression_ratio(), last.local_compression_ratio());
  constexpr std::uint64_t kMiB = 1 << 20;
  return text +
         fmt::format("About {} to copy, and about {} MiB of memory for the mount: measured here, without a disk.\n",
                     duration_text(static_cast<std::uint64_t>(std::ceil(found.copy_seconds))),
                     (mount_memory_bytes + kMiB - 1) / kMiB);
}

void say_problems(const SourceProblems& problems, const Console& console) {
  for (const Error& error : problems.first) console.say("left out: " + error.message());
  if (const auto more = problems.unreadable - problems.first.size(); more != 0)
    console.say(fmt::format("left out: {} more", more));
  if (problems.changed != 0)
    console.say(fmt::format("files that became shorter while they were read: {}", problems.changed));
}

void say_what_is_missing(const Estimate& found, const EstimateSettings& settings, const Console& console) {
  const std::string memory = human_size(settings.scratch.memory_bytes);
  if (!found.complete)
    console.say(
        fmt::format("the {} of memory that it may take were full after {} of the files: give it more "
                    "(--memory SIZE), or fewer files",
                    memory, human_size(found.read_bytes)));
  else if (found.unsettled)
    console.say(
        fmt::format("the {} of memory that it may take do not suffice to say what the volume takes once "
                    "settled: give it more (--memory SIZE), or fewer files",
                    memory));
  say_problems(found.problems, console);
}

bool is_whole(const SourceProblems& problems) {
  return problems.unreadable == 0 && problems.changed == 0;
}

bool is_whole(const Estimate& found) {
  return found.complete && !found.unsettled && is_whole(found.problems);
}

JobState state_of(const EstimateProgress& now, double seconds) {
  switch (now.stage) {
    case EstimateStage::kList: return {.stage = "list", .done_bytes = now.read_bytes};
    case EstimateStage::kSettle: return {.stage = "settle"};
    case EstimateStage::kScan:
    case EstimateStage::kCopy: break;
  }
  JobState state =
      state_of_copy(now.stage == EstimateStage::kScan ? "scan" : "copy", now.read_bytes, now.total_bytes, seconds);
  if (now.seconds_left)
    state.seconds_left = std::max(0.0, std::min(*now.seconds_left, state.seconds_left.value_or(*now.seconds_left)));
  return state;
}

std::string words_of(EstimateStage stage, const JobState& state) {
  std::string done = human_size(state.done_bytes.value_or(0));
  if (state.total_bytes) done += " of " + human_size(*state.total_bytes);
  switch (stage) {
    case EstimateStage::kList: return "found " + done;
    case EstimateStage::kScan: return fmt::format("counted the chunks of {}{}", done, rate_and_time_left(state));
    case EstimateStage::kSettle: return "settling";
    case EstimateStage::kCopy: break;
  }
  return fmt::format("copied {}{}", done, rate_and_time_left(state));
}

// How long each stage has taken so far. Stages take turns where there are versions.
class StageClock {
 public:
  // Whether it is not that of the call before.
  bool enter(EstimateStage stage) {
    const Clock::time_point now = Clock::now();
    spent_.at(index_of(stage)) += now - std::exchange(last_, now);
    return std::exchange(stage_, stage) != stage;
  }
  double seconds() const { return spent_.at(index_of(*stage_)).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  static std::size_t index_of(EstimateStage stage) { return static_cast<std::size_t>(stage); }

  Clock::time_point last_ = Clock::now();
  std::optional<EstimateStage> stage_;
  std::array<std::chrono::duration<double>, 4> spent_{};
};

// `run` is an estimate that wants to be asked whether it goes on. `of_what` goes in front of the progress.
template <class Run>
auto with_progress(const Console& console, const Process& process, const std::string& of_what, const Run& run) {
  JobProgress progress(console, process);
  StageClock clock;
  auto found = run([&](const EstimateProgress& now) {
    if (clock.enter(now.stage)) progress.begin_stage();
    const bool says_something = now.stage != EstimateStage::kCopy || now.read_bytes != 0;
    if (says_something && progress.is_due()) {
      JobState state = state_of(now, clock.seconds());
      if (!of_what.empty()) state.item = of_what;
      progress.show((of_what.empty() ? "" : of_what + ": ") + words_of(now.stage, state), state);
    }
    return !process.stop_was_asked_for();
  });
  progress.clear();
  return found;
}

Result<Estimate> find(EstimateSettings settings, const Console& console, const Process& process,
                      const std::string& of_what = {}) {
  settings.lists_first = JobProgress(console, process).is_seen();
  return with_progress(console, process, of_what,
                       [&](const EstimateGoesOn& goes_on) { return estimate(settings, goes_on); });
}

int fail(const Error& error, const Console& console) {
  return console.fail(error, error.code() == ErrorCode::kInterrupted ? kUnfinished : kFailed);
}

// ---------------------------------------------------------------- --compare

struct Compared {
  std::vector<Candidate> candidates;
  std::vector<Estimate> estimates;  // of each of them
  std::vector<Outlay> outlays;
};

Result<Compared> compare(const EstimateArguments& asked, EstimateSettings settings, const Console& console,
                         const Process& process) {
  Compared compared{.candidates = candidates_of(asked.settings), .estimates = {}, .outlays = {}};
  for (const Candidate& candidate : compared.candidates) {
    DEDUPFS_ASSIGN(settings.scratch.volume, parse_volume_settings(candidate.settings));
    const auto number = compared.estimates.size() + 1;
    DEDUPFS_ASSIGN(Estimate found,
                   find(settings, console, process, fmt::format("{} of {}", number, compared.candidates.size())));
    if (!found.complete || found.unsettled) {
      say_what_is_missing(found, settings, console);
      return Error{ErrorCode::kNoMemory, "without all of the files there is nothing to compare"};
    }
    compared.outlays.push_back({.disk_bytes = found.settled->disk_bytes,
                                .chunks = found.settled->unique_chunks,
                                .copy_seconds = found.copy_seconds});
    compared.estimates.push_back(std::move(found));
  }
  say_what_is_missing(compared.estimates.front(), settings, console);
  return compared;
}

std::string words_of(const Candidate& candidate) {
  return candidate.options.empty() ? "(defaults)" : candidate.options;
}

std::string command_of(const Candidate& candidate) {
  return "mkfs.dedupfs" + (candidate.options.empty() ? "" : " " + candidate.options);
}

std::string comparison_screen(const Compared& compared, const Advice& advice) {
  constexpr std::string_view kRow = "{:>11}{:>8}{:>8}{:>8}{:>8}{:>10}{:>8}  {}\n";
  std::string screen =
      fmt::format(kRow, "Disk", "Total", "Dedup", "Deltas", "Compr.", "Chunks", "Copy s", "Options of mkfs.dedupfs");
  for (std::size_t i = 0; i < compared.candidates.size(); ++i) {
    const Statistics& settled = *compared.estimates[i].settled;
    const auto ratio = [](double value) { return fmt::format("{:.2f}", value); };
    screen += fmt::format(kRow, human_size(settled.disk_bytes), ratio(settled.total_ratio()),
                          ratio(settled.dedup_ratio()), ratio(settled.delta_compression_ratio()),
                          ratio(settled.local_compression_ratio()), settled.unique_chunks,
                          fmt::format("{:.1f}", compared.outlays[i].copy_seconds), words_of(compared.candidates[i]));
  }
  return screen +
         fmt::format("\nAdvice: {}\nReason: {}.\n", command_of(compared.candidates[advice.candidate]), advice.reason);
}

nlohmann::json comparison_json(const Compared& compared, const Advice& advice) {
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t i = 0; i < compared.candidates.size(); ++i) {
    nlohmann::json row = json_of(compared.estimates[i]);
    row["options"] = compared.candidates[i].options;
    rows.push_back(std::move(row));
  }
  return {{"compared", rows},
          {"advice", {{"options", compared.candidates[advice.candidate].options}, {"reason", advice.reason}}}};
}

int show_comparison(const EstimateArguments& asked, const EstimateSettings& settings, const Console& console,
                    const Process& process) {
  const auto compared = compare(asked, settings, console, process);
  if (!compared) return fail(compared.error(), console);
  const Advice advice = advise(compared->candidates, compared->outlays);
  if (console.as_json())
    console.print("dedupfs-estimate-compare", comparison_json(*compared, advice));
  else
    console.out() << comparison_screen(*compared, advice);
  return console.end(std::ranges::all_of(compared->estimates, [](const Estimate& found) { return is_whole(found); })
                         ? kDone
                         : kUnfinished);
}

// ---------------------------------------------------------------- --versions

int show_versions(const EstimateArguments& asked, const EstimateSettings& settings, const Console& console,
                  const Process& process) {
  const auto found = find(settings, console, process);
  if (!found) return fail(found.error(), console);
  say_what_is_missing(*found, settings, console);
  const auto steps = version_steps(asked.paths, found->versions);
  if (console.as_json()) {
    nlohmann::json json = completeness_json(*found);
    json["versions"] = versions_json(steps);
    json["forecast"] = forecast_json(steps);
    console.print("dedupfs-estimate-versions", std::move(json));
  } else {
    console.out() << versions_screen(steps);
  }
  return console.end(is_whole(*found) ? kDone : kUnfinished);
}

// ---------------------------------------------------------------- --sample

int show_sample(const EstimateArguments& asked, const EstimateSettings& settings, const Console& console,
                const Process& process) {
  const auto share = parse_share(asked.sample);
  if (!share) return console.fail(share.error().with("--sample"), kUsageError);
  const auto found = with_progress(console, process, {}, [&](const EstimateGoesOn& goes_on) {
    return estimate_by_sample(settings, {.share = *share}, goes_on);
  });
  if (!found) return fail(found.error(), console);
  if (!found->complete) console.say("the names alone took too long: the estimate is that of the files up to there");
  say_problems(found->problems, console);
  if (console.as_json())
    console.print("dedupfs-estimate-sample", sample_json(*found));
  else
    console.out() << sample_screen(*found);
  return console.end(found->complete && is_whole(found->problems) ? kDone : kUnfinished);
}

void define_options(Command& app, EstimateArguments& asked) {
  define_common_options(app, volume_setting_words());
  app.add_option("PATH", asked.paths, "folders and files, in the order in which they would be copied").required();
  app.add_option("--memory", asked.memory,
                 "the memory that the volume may take, its caches come on top (default: half of what is available, at "
                 "most 4g)")
      .type_name("SIZE");
  app.add_flag("-x,--one-file-system", asked.one_filesystem, "skip what is on other filesystems than its PATH");
  app.add_flag("--versions", asked.are_versions,
               "the PATHs are versions of the same data, the oldest first: say what each adds, and what a further one "
               "would add");
  app.add_flag("--compare", asked.compares, "try several chunkers and sizes, and advise options of mkfs.dedupfs")
      .excludes("--versions");
  app.add_option(
         "--sample", asked.sample,
         "store this share of the data, only count the chunks of the rest, and tell the margin: takes at most a "
         "minute")
      .type_name("PERCENT%")
      .excludes("--versions")
      .excludes("--compare");
  add_json_flag(app, "print one JSON object with exact numbers");
  define_progress_flag(app);
  define_volume_settings(app, asked.settings);
}

}  // namespace

int run_estimate(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process) {
  Console console({.name = "dedupfs-estimate", .usage_error = kUsageError, .failed = kFailed}, out, err);
  EstimateArguments asked;
  Command app("Says what files would take in a dedupfs volume. It makes none: it copies them into one in memory.",
              "dedupfs-estimate");
  app.example("dedupfs-estimate /home");
  define_options(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;
  const auto settings = settings_of(asked);
  if (!settings) return console.fail(settings.error(), kUsageError);

  const LogTo log(console.err(), "dedupfs-estimate", spdlog::level::warn);
  process.catch_stop_signals();
  if (asked.compares) return show_comparison(asked, *settings, console, process);
  if (!asked.sample.empty()) return show_sample(asked, *settings, console, process);
  if (asked.are_versions) return show_versions(asked, *settings, console, process);
  const auto found = find(*settings, console, process);
  if (!found) return fail(found.error(), console);
  say_what_is_missing(*found, *settings, console);
  const std::uint64_t memory = memory_of_mount(*found);
  if (console.as_json()) {
    nlohmann::json json = json_of(*found);
    json["mount_memory_bytes"] = memory;
    console.print("dedupfs-estimate", std::move(json));
  } else {
    console.out() << screen_of(*found, memory);
  }
  return console.end(is_whole(*found) ? kDone : kUnfinished);
}

}  // namespace dedupfs::tools
