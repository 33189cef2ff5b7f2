// What a bucket alone gives, after each change of it: one of the states that the volume had, and at least the last that was shipped. And a
// machine that lost its power then goes on shipping.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "crash/campaign.h"
#include "crash/oracle.h"
#include "crash/replicated_run.h"
#include "crash/reporter.h"
#include "crash/workloads.h"
#include "replica/clone.h"
#include "support/crash_replay.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kMomentsOfARecording = 24;
constexpr std::uint64_t kLocalStates = 40;  // as many variations of a crash of the machine

// On another machine. Nothing: the bucket has no head.
Result<std::optional<DiskImage>> clone_of(const std::shared_ptr<MemoryObjects>& objects) {
  MemoryBucket bucket(objects);
  DEDUPFS_ASSIGN(const std::optional<Replica> replica, load_replica(bucket));
  if (!replica) return std::optional<DiskImage>();
  const auto disk = std::make_shared<MemoryDisk>();
  DEDUPFS_TRY(disk->make_directory(kVolumePath));
  DEDUPFS_TRY(disk->sync_directory("/"));
  DEDUPFS_ASSIGN(const auto folder, disk->open_root(kVolumePath));
  DEDUPFS_TRY(clone_replica(bucket, *replica, *folder, {}));
  DEDUPFS_TRY(finish_clone(*folder));
  return std::optional(disk->image());
}

// The problems with what the bucket alone gives.
std::vector<std::string> problems_of_clone(const std::shared_ptr<MemoryObjects>& objects, const History& history,
                                           History::Range allowed, bool has_head) {
  const auto clone = clone_of(objects);
  if (!clone) return {"it cannot be cloned: " + clone.error().message()};
  if (!*clone) return has_head ? std::vector<std::string>{"it has no head"} : std::vector<std::string>();
  return examine(**clone, history, allowed, false).problems;
}

class LostPower {
 public:
  LostPower(const History& history, const ReplicatedRun::Moment& moment, Eviction eviction)
      : history_(history),
        moment_(moment),
        eviction_(eviction),
        objects_(std::make_shared<MemoryObjects>(moment.objects)) {}

  // `image`: of the disk of the machine.
  Result<std::vector<std::string>> problems(const DiskImage& image) {
    const auto disk = std::make_shared<MemoryDisk>(image);
    DEDUPFS_ASSIGN(const auto filesystem,
                   open_filesystem(disk, {.seen_through = [this](const std::shared_ptr<MemoryDisk>& below) {
                                     return evicting(below, objects_);
                                   }}));
    DEDUPFS_ASSIGN(const Tree tree, tree_of(*filesystem));
    const std::optional<std::size_t> state = find_state(tree.text);
    if (!state) return std::vector<std::string>{"its tree is none that may be there"};
    {
      DEDUPFS_ASSIGN(const auto shipper,
                     start_shipper(*filesystem, std::make_shared<MemoryBucket>(objects_), eviction_));
      if (!shipper) return std::vector<std::string>{"it has lost its bucket"};
      DEDUPFS_TRY(shipper->ship_now([]() -> Result<void> { return {}; }));
    }
    DEDUPFS_TRY(filesystem->close());
    return problems_of_clone(objects_, history_, {*state, *state}, true);
  }

 private:
  std::optional<std::size_t> find_state(const std::string& tree) const {
    const History::Range allowed = history_.allowed_at(moment_.events);
    for (std::size_t state = allowed.first; state <= allowed.last; ++state)
      if (history_.states[state] == tree) return state;
    return std::nullopt;
  }

  const History& history_;
  const ReplicatedRun::Moment& moment_;
  const Eviction eviction_;
  const std::shared_ptr<MemoryObjects> objects_;
};

void examine_recording(const Workload& workload, std::uint64_t seed, std::uint64_t states, const AttachedVolume& volume,
                       const CampaignOptions& options, Reporter& reporter) {
  const std::string recording =
      fmt::format("--bucket {}--workload {} --seed {}", options.encrypted ? "--encrypted " : "", workload.name, seed);
  const Eviction eviction = seed % 2 == 0 ? Eviction::kAll : Eviction::kNone;
  ReplicatedRun run(seed, volume, seed % 3 != 0, eviction);
  const History history = record(workload, seed, volume.disk, run.options());
  for (const auto& problems : {history.problems, run.problems()})
    for (const std::string& problem : problems) reporter.violation(recording + ", while it was recorded", problem);

  std::vector<std::size_t> chosen(run.moments().size());
  std::iota(chosen.begin(), chosen.end(), 0);
  std::mt19937_64 random(seed);
  std::ranges::shuffle(chosen, random);
  chosen.resize(std::min<std::size_t>(chosen.size(), states));
  std::ranges::sort(chosen);
  in_parallel(options.threads, chosen.size(), [&](std::size_t from, std::size_t to) {
    CrashReplay replay(history.start, history.events);
    for (std::size_t i = from; i < to && !reporter.enough(); ++i) {
      const ReplicatedRun::Moment& moment = run.moments()[chosen[i]];
      const std::string where =
          fmt::format("{}, change {} of {} of the bucket", recording, chosen[i], run.moments().size());
      for (const std::string& problem :
           problems_of_clone(std::make_shared<MemoryObjects>(moment.objects), history, moment.allowed, moment.has_head))
        reporter.violation(where + ", what it gives", problem);
      reporter.state();

      std::mt19937_64 variations(seed * 1'000'003 + chosen[i]);
      replay.go_to(moment.events);
      const std::uint64_t variation = variations() % kLocalStates;
      const auto problems = LostPower(history, moment, eviction).problems(replay.state(variation, variations()));
      const std::string after = fmt::format("{}, the machine loses its power (variation {})", where, variation);
      if (!problems) reporter.violation(after, problems.error().message());
      for (const std::string& problem : problems ? *problems : std::vector<std::string>())
        reporter.violation(after, problem);
      reporter.state();
    }
  });
}

}  // namespace

CampaignResult run_bucket_states(const CampaignOptions& options, std::ostream& out) {
  Reporter reporter(options, out);
  const AttachedVolume volume = attach(make_small_volume(options.encrypted ? Sealing::kEncrypted : Sealing::kPlain));
  const auto has_volume = [](const Workload& workload) { return !workload.from_nothing; };
  each_recording(
      options, reporter, has_volume, [&](const Workload& workload, std::uint64_t seed, std::uint64_t states) {
        examine_recording(workload, seed, std::min((states + 1) / 2, kMomentsOfARecording), volume, options, reporter);
      });
  return reporter.result();
}

}  // namespace dedupfs
