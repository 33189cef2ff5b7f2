// Counts what a campaign has judged, and says what it found.
//
// Threads: every function from any thread.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "crash/campaign.h"
#include "crash/workloads.h"

namespace dedupfs {

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
  CampaignResult result() const {
    const std::lock_guard lock(mutex_);
    return result_;
  }

 private:
  const CampaignOptions& options_;
  std::ostream& out_;
  mutable std::mutex mutex_;
  CampaignResult result_;
};

// Several threads share the numbers from 0 to `count`.
template <class Work>
void in_parallel(std::uint64_t threads, std::size_t count, const Work& work) {
  threads = std::clamp<std::uint64_t>(threads, 1, 64);
  std::vector<std::jthread> running;
  for (std::uint64_t i = 0; i < threads; ++i)
    running.emplace_back([&, i] { work(count * i / threads, count * (i + 1) / threads); });
}

// Each workload that is wanted and fits gets its share of the states, from one recording after the other: `examine(workload, seed, states)`
// makes one, and judges at most so many states of it.
template <class Fits, class Examine>
void each_recording(const CampaignOptions& options, Reporter& reporter, const Fits& fits, const Examine& examine) {
  std::vector<const Workload*> wanted;
  for (const Workload& workload : workloads())
    if ((options.workload.empty() || workload.name == options.workload) && fits(workload)) wanted.push_back(&workload);
  for (const Workload* const workload : wanted) {
    const std::uint64_t share = options.states / wanted.size() + 1;
    const std::uint64_t before = reporter.result().states;
    for (std::uint64_t seed = options.seed; !reporter.enough(); ++seed) {
      const std::uint64_t done = reporter.result().states - before;
      if (done >= share) break;
      examine(*workload, seed, share - done);
    }
    reporter.say(fmt::format("{}: {} states", workload->name, reporter.result().states - before));
  }
}

}  // namespace dedupfs
