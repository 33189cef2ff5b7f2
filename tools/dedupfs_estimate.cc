#include "dedupfs_estimate.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/size.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "fs/estimate/estimate.h"
#include "log_to.h"
#include "mount/options/memory_limits.h"
#include "mount/options/mount_options.h"
#include "mount/reports/statistics_report.h"
#include "progress_line.h"
#include "volume_settings.h"

namespace dedupfs::tools {
namespace {

constexpr int kSchemaVersion = 1;
constexpr std::uint64_t kMostMemoryByDefault = std::uint64_t{4} << 30;
constexpr std::chrono::milliseconds kShowInterval{200};

struct EstimateArguments {
  std::vector<std::string> paths;
  VolumeSettingsArguments settings;
  std::string memory;
  bool one_filesystem = false;
  bool as_json = false;
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
  EstimateSettings settings{.roots = {asked.paths.begin(), asked.paths.end()}, .one_filesystem = asked.one_filesystem};
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
  for (const char* const key :
       {"uuid", "label", "mounted", "scrub", "reclaim", "freed_bytes", "last_snapshot_unix_seconds"})
    json.erase(key);
  return json;
}

nlohmann::json json_of(const Estimate& found) {
  nlohmann::json json = volume_json(found.copied, found.superblock);
  json["schema_version"] = kSchemaVersion;
  json["complete"] = found.complete;
  json["read_bytes"] = found.read_bytes;
  json["unreadable_files"] = found.problems.unreadable;
  json["changed_files"] = found.problems.changed;
  json["copy_seconds"] = found.copy_seconds;
  json["scratch_bytes"] = found.peak_scratch_bytes;
  json["settled"] = found.settled ? volume_json(*found.settled, found.superblock) : nlohmann::json(nullptr);
  return json;
}

std::string size_and_ratio(const Statistics& statistics) {
  return fmt::format("{} ({:.2f} : 1)", human_size(statistics.disk_bytes), statistics.total_ratio());
}

std::string screen_of(const Estimate& found) {
  const Statistics& last = found.settled ? *found.settled : found.copied;
  std::string text =
      fmt::format("{}{} in {} would take {}", found.complete ? "" : "The first ", human_size(last.logical_bytes),
                  last.files == 1 ? "1 file" : fmt::format("{} files", last.files), size_and_ratio(found.copied));
  if (found.settled && found.copied.landed_bytes != 0)
    text += fmt::format(" right after the copy, and {} once settled", size_and_ratio(*found.settled));
  text += fmt::format(",\nof which deduplication {:.2f}, deltas {:.2f}, compression {:.2f}.\n", last.dedup_ratio(),
                      last.delta_compression_ratio(), last.local_compression_ratio());
  return text + fmt::format("The copy took {:.0f} s here, without a mount and a disk.\n", found.copy_seconds);
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
  for (const Error& error : found.problems.first) console.say("left out: " + error.message());
  if (const auto more = found.problems.unreadable - found.problems.first.size(); more != 0)
    console.say(fmt::format("left out: {} more", more));
  if (found.problems.changed != 0)
    console.say(fmt::format("files that became shorter while they were read: {}", found.problems.changed));
}

bool is_whole(const Estimate& found) {
  return found.complete && !found.unsettled && found.problems.unreadable == 0 && found.problems.changed == 0;
}

Result<Estimate> find(const EstimateSettings& settings, const Console& console, const Process& process) {
  using Clock = std::chrono::steady_clock;
  ProgressLine line(console.err(), process.err_is_terminal);
  const Clock::time_point begun = Clock::now();
  Clock::time_point next = begun;
  auto found = estimate(settings, [&](EstimateStage stage, std::uint64_t bytes) {
    if (const Clock::time_point now = Clock::now(); now >= next) {
      next = now + kShowInterval;
      const double seconds = std::max(0.001, std::chrono::duration<double>(now - begun).count());
      line.show(stage == EstimateStage::kSettle ? std::string("settling")
                                                : fmt::format("copied {}, {:.0f} MB/s", human_size(bytes),
                                                              static_cast<double>(bytes) / seconds / 1e6));
    }
    return !process.stop_was_asked_for();
  });
  line.clear();
  return found;
}

void define_options(CLI::App& app, EstimateArguments& asked) {
  define_common_options(app, volume_setting_words());
  app.add_option("PATH", asked.paths, "folders and files, in the order in which they would be copied")->required();
  app.add_option("--memory", asked.memory,
                 "the memory that the volume may take, its caches come on top (default: half of what is available, at "
                 "most 4g)")
      ->type_name("SIZE");
  app.add_flag("-x,--one-file-system", asked.one_filesystem, "skip what is on other filesystems than its PATH");
  app.add_flag("--json", asked.as_json, "print one JSON object with exact numbers");
  define_volume_settings(app, asked.settings);
}

}  // namespace

int run_estimate(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process) {
  const Console console({.name = "dedupfs-estimate", .usage_error = kUsageError, .failed = kFailed}, out, err);
  EstimateArguments asked;
  CLI::App app("Says what files would take in a dedupfs volume. It makes none: it copies them into one in memory.",
               "dedupfs-estimate");
  define_options(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;
  const auto settings = settings_of(asked);
  if (!settings) return console.fail(settings.error(), kUsageError);

  const LogTo log(console.err(), "dedupfs-estimate", spdlog::level::warn);
  process.catch_stop_signals();
  const auto found = find(*settings, console, process);
  if (!found)
    return console.fail(found.error(), found.error().code() == ErrorCode::kInterrupted ? kUnfinished : kFailed);
  say_what_is_missing(*found, *settings, console);
  console.out() << (asked.as_json ? json_of(*found).dump(2) + "\n" : screen_of(*found));
  return console.end(is_whole(*found) ? kDone : kUnfinished);
}

}  // namespace dedupfs::tools
