// After each power cut, what the disk may have then opens, and has one of the trees that it may have.
#include "crash/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "crash/oracle.h"
#include "crash/reporter.h"
#include "crash/workloads.h"
#include "support/crash_replay.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kStatesOfARecording =
    40;                                  // then another: what a disk does when differs more than what a cut leaves
constexpr std::uint64_t kMixtures = 16;  // at random, of each point

struct Point {
  std::size_t position;
  std::uint64_t variation;
};

// Every point of the recording with every variation, shuffled, and the first `most` of it in order of position.
std::vector<Point> choose_points(const History& history, std::uint64_t seed, std::uint64_t most) {
  std::vector<Point> points;
  CrashReplay replay(history.start, history.events);
  for (std::size_t position = 0; position <= history.events.size(); ++position) {
    replay.go_to(position);
    const std::uint64_t variations = replay.exact_variations() + kMixtures;
    for (std::uint64_t variation = 0; variation < variations; ++variation) points.push_back({position, variation});
  }
  std::mt19937_64 random(seed);
  std::ranges::shuffle(points, random);
  points.resize(std::min<std::size_t>(points.size(), most));
  std::ranges::sort(points, {}, &Point::position);
  return points;
}

void examine_recording(const Workload& workload, const History& history, std::uint64_t seed, std::uint64_t states,
                       const CampaignOptions& options, Reporter& reporter) {
  const std::string recording = fmt::format("--workload {} --seed {}", workload.name, seed);
  for (const std::string& problem : history.problems)
    reporter.violation(recording + ", while it was recorded", problem);
  const std::vector<Point> points = choose_points(history, seed, states);
  in_parallel(options.threads, points.size(), [&](std::size_t from, std::size_t to) {
    CrashReplay replay(history.start, history.events);
    for (std::size_t i = from; i < to && !reporter.enough(); ++i) {
      const auto [position, variation] = points[i];
      replay.go_to(position);
      const std::uint64_t state_seed = seed * 1'000'003 + position * 1009 + variation;
      const DiskImage disk = replay.state(variation, state_seed);
      const bool may_be_absent = history.from_nothing && (history.acknowledgements.empty() ||
                                                          position < history.acknowledgements.front().events);
      Verdict verdict = examine(disk, history, history.allowed_at(position), may_be_absent);
      if (options.nested != 0 && i % options.nested == 0) examine_recovery(disk, verdict, state_seed, 2);
      for (const std::string& problem : verdict.problems)
        reporter.violation(fmt::format("{}, state {} (event {} of {}, variation {})", recording, i, position,
                                       history.events.size(), variation),
                           problem);
      reporter.state();
    }
  });
}

}  // namespace

CampaignResult run_crash_states(const CampaignOptions& options, std::ostream& out) {
  Reporter reporter(options, out);
  const DiskImage volume = make_small_volume(options.encrypted ? Sealing::kEncrypted : Sealing::kPlain);
  const auto fits = [](const Workload&) { return true; };
  each_recording(options, reporter, fits, [&](const Workload& workload, std::uint64_t seed, std::uint64_t states) {
    examine_recording(workload, record(workload, seed, volume), seed, std::min(states, kStatesOfARecording), options,
                      reporter);
  });
  return reporter.result();
}

}  // namespace dedupfs
