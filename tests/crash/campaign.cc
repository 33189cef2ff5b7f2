#include "crash/campaign.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include "crash/oracle.h"
#include "crash/workloads.h"
#include "support/crash_replay.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kStatesOfARecording =
    40;                                  // then another: what a disk does when differs more than what a cut leaves
constexpr std::uint64_t kMixtures = 16;  // at random, of each point

class Reporter {
 public:
  Reporter(const CampaignOptions& options, std::ostream& out) : options_(options), out_(out) {}

  void violation(const std::string& where, const std::string& problem) {
    const std::lock_guard lock(mutex_);
    ++result_.violations;
    out_ << "VIOLATION " << where << ": " << problem << std::endl;
  }
  void state() {
    const std::lock_guard lock(mutex_);
    ++result_.states;
  }
  void say(const std::string& line) {
    const std::lock_guard lock(mutex_);
    out_ << line << std::endl;
  }
  bool enough() const {
    const std::lock_guard lock(mutex_);
    return result_.violations >= options_.max_violations;
  }
  CampaignResult result() const { return result_; }

 private:
  const CampaignOptions& options_;
  std::ostream& out_;
  mutable std::mutex mutex_;
  CampaignResult result_;
};

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

template <class Work>
void in_parallel(std::uint64_t threads, std::size_t count, const Work& work) {
  threads = std::clamp<std::uint64_t>(threads, 1, 64);
  std::vector<std::jthread> running;
  for (std::uint64_t i = 0; i < threads; ++i)
    running.emplace_back([&, i] { work(count * i / threads, count * (i + 1) / threads); });
}

bool is_wanted(const Workload& workload, const CampaignOptions& options) {
  return options.workload.empty() || workload.name == options.workload;
}

std::uint64_t wanted_workloads(const CampaignOptions& options) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(workloads(), [&](const Workload& workload) { return is_wanted(workload, options); }));
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
  const std::uint64_t share = options.states / std::max<std::uint64_t>(1, wanted_workloads(options)) + 1;
  for (const Workload& workload : workloads()) {
    if (!is_wanted(workload, options)) continue;
    const std::uint64_t before = reporter.result().states;
    for (std::uint64_t seed = options.seed; !reporter.enough(); ++seed) {
      const std::uint64_t done = reporter.result().states - before;
      if (done >= share) break;
      const History history = record(workload, seed, volume);
      examine_recording(workload, history, seed, std::min(share - done, kStatesOfARecording), options, reporter);
    }
    reporter.say(fmt::format("{}: {} states", workload.name, reporter.result().states - before));
  }
  return reporter.result();
}

}  // namespace dedupfs
