// The fault sweep: each workload again and again, with another call failing each time.
#include <fmt/format.h>
#include <rocksdb/env.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "crash/campaign.h"
#include "crash/oracle.h"
#include "crash/workloads.h"
#include "support/crash_replay.h"

namespace dedupfs {
namespace {

// After a failed flush or compaction a background thread of RocksDB sleeps for a second, and all databases of a process share
// these threads: with one of each kind, runs stand in a queue of sleepers, and look as if they hung.
constexpr int kBackgroundThreads = 32;
constexpr std::uint64_t kRunsPerThread = 8;  // at once: most of them wait

struct FaultKind {
  std::string_view name;
  std::string_view operation;  // empty: every call that changes or syncs
  ErrorCode error;
  std::size_t partial_bytes;
};

constexpr std::array kKinds{
    FaultKind{"eio", "", ErrorCode::kIo, 0},
    FaultKind{"enospc", "", ErrorCode::kNoSpace, 0},
    FaultKind{"short-write", "write", ErrorCode::kNoSpace, 700},
    FaultKind{"fsync", "datasync", ErrorCode::kIo, 0},
    FaultKind{"read", "read", ErrorCode::kIo, 0},
};

struct FaultRun {
  const Workload* workload;
  const FaultKind* kind;
  bool for_good;
  std::uint64_t number;  // of the call that fails

  std::string name(std::uint64_t seed) const {
    return fmt::format("--faults --workload {} --seed {} --fault {} --call {}{}", workload->name, seed, kind->name,
                       number, for_good ? " (and all after it)" : "");
  }
};

bool concerns(const FaultKind& kind, std::string_view operation) {
  return kind.operation.empty() ? operation != "read" : operation == kind.operation;
}

struct Calls {
  std::atomic<std::uint64_t> made = 0;
  std::mutex mutex;
  std::string first_failed;
};

// Counts the calls that the kind concerns and fails the chosen.
MemoryDisk::FaultSource source_of(const FaultRun& run, const std::shared_ptr<Calls>& calls) {
  return [run, calls](std::string_view operation, const Path& path) -> std::optional<MemoryDisk::Fault> {
    if (!concerns(*run.kind, operation)) return std::nullopt;
    const std::uint64_t number = ++calls->made;
    if (run.for_good ? number < run.number : number != run.number) return std::nullopt;
    const std::string call = fmt::format("{} of {}", operation, path.string());
    const std::string message = call + ": told to fail";
    if (number == run.number) {
      const std::lock_guard lock(calls->mutex);
      calls->first_failed = call;
    }
    return MemoryDisk::Fault{Error{run.kind->error, message}, run.kind->partial_bytes};
  };
}

// How often the workload makes calls of each kind.
std::array<std::uint64_t, kKinds.size()> count_calls(const Workload& workload, std::uint64_t seed,
                                                     const DiskImage& volume) {
  const auto calls = std::make_shared<std::array<std::atomic<std::uint64_t>, kKinds.size()>>();
  const auto count = [calls](std::string_view operation, const Path&) -> std::optional<MemoryDisk::Fault> {
    for (std::size_t i = 0; i < kKinds.size(); ++i)
      if (concerns(kKinds[i], operation)) ++(*calls)[i];
    return std::nullopt;
  };
  (void)record_with_fault(workload, seed, volume, count);
  std::array<std::uint64_t, kKinds.size()> counts;
  std::ranges::copy(*calls, counts.begin());
  return counts;
}

// The error may come back to the caller from any operation, sync or close; what was acknowledged in spite of it must hold.
std::vector<std::string> problems_of(const FaultRun& run, std::uint64_t seed, const DiskImage& volume) {
  const auto calls = std::make_shared<Calls>();
  const History history = record_with_fault(*run.workload, seed, volume, source_of(run, calls));
  std::vector<std::string> problems = history.problems;
  CrashReplay replay(history.start, history.events);
  replay.go_to(history.events.size());
  const bool may_be_absent = history.from_nothing && history.acknowledgements.empty();
  for (const std::uint64_t variation : {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX}) {
    const Verdict verdict = examine(replay.state(variation, seed + run.number), history,
                                    history.allowed_at(history.events.size()), may_be_absent);
    for (const std::string& problem : verdict.problems) {
      // A file that cannot be stored because something cannot be read holds nobody else up (docs/durability.md).
      const bool may_have_holes = run.kind->operation == "read" && history.errors != 0;
      if (may_have_holes && problem.starts_with("the tree is not one of")) continue;
      problems.push_back(fmt::format("{} failed; {}: {}", calls->first_failed,
                                     variation == 0   ? "process died"
                                     : variation == 1 ? "power cut"
                                                      : "power cut, some of it written",
                                     problem));
    }
  }
  return problems;
}

std::vector<FaultRun> choose_runs(const CampaignOptions& options, const DiskImage& volume) {
  std::vector<FaultRun> runs;
  for (const Workload& workload : workloads()) {
    if ((!options.workload.empty() && workload.name != options.workload) || workload.short_length == 0) continue;
    const auto counts = count_calls(workload, options.seed, volume);
    for (std::size_t i = 0; i < kKinds.size(); ++i) {
      const FaultKind& kind = kKinds[i];
      if (!options.fault.empty() && kind.name != options.fault) continue;
      // A few more: background work comes in another order each time.
      const std::uint64_t calls = counts[i] + 5;
      for (std::uint64_t number = 1; number <= calls; ++number) {
        if (options.call != 0 && number != options.call) continue;
        for (const bool for_good : {false, true}) runs.push_back({&workload, &kind, for_good, number});
      }
    }
  }
  if (options.states == 0 || options.states >= runs.size()) return runs;
  std::mt19937_64 random(options.seed);
  std::ranges::shuffle(runs, random);
  runs.resize(options.states);
  return runs;
}

}  // namespace

CampaignResult run_fault_sweep(const CampaignOptions& options, std::ostream& out) {
  for (const auto priority : {rocksdb::Env::HIGH, rocksdb::Env::LOW})
    rocksdb::Env::Default()->SetBackgroundThreads(kBackgroundThreads, priority);
  const DiskImage volume = make_small_volume(options.encrypted ? Sealing::kEncrypted : Sealing::kPlain);
  const std::vector<FaultRun> runs = choose_runs(options, volume);
  CampaignResult result;
  std::mutex mutex;
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < runs.size(); i = next++) {
      const std::vector<std::string> problems = problems_of(runs[i], options.seed, volume);
      const std::lock_guard lock(mutex);
      ++result.states;
      for (const std::string& problem : problems) {
        ++result.violations;
        out << "VIOLATION " << runs[i].name(options.seed) << ": " << problem << std::endl;
      }
      if (result.violations >= options.max_violations) return;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < std::clamp<std::uint64_t>(options.threads * kRunsPerThread, 1, 64); ++i)
      threads.emplace_back(work);
  }
  return result;
}

}  // namespace dedupfs
