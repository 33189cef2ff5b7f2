#include "crash/oracle.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "fs/check/namespace_check.h"
#include "fs/check/snapshot_check.h"
#include "store/check/store_check.h"
#include "store/volume/ballast.h"
#include "support/crash_replay.h"

namespace dedupfs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kMaxToOpen{20};                            // on a busy machine; an idle one takes 20 ms
constexpr std::uint64_t kRecoveryBytes = (1 << 20) + Ballast::kMinBytes;  // tables, manifest, room for the next mount

// The orphans of before the crash are taken apart in the background.
bool inodes_become(Filesystem& filesystem, std::uint64_t count) {
  for (int i = 0; i < 1000; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
    const auto space = filesystem.space();
    if (space && space->inodes == count) return true;
  }
  return false;
}

// Nothing but the root.
bool is_empty(const std::string& tree) {
  return tree.find('\n') + 1 == tree.size();
}

// Opens, describes, checks and closes.
void recover(const std::shared_ptr<MemoryDisk>& disk, Verdict& verdict, bool may_be_absent) {
  const Clock::time_point begin = Clock::now();
  auto opened = open_filesystem(disk);
  if (Clock::now() - begin > kMaxToOpen) verdict.problems.emplace_back("opening took more than 20 s");
  if (!opened) {
    if (!may_be_absent || opened.error().code() != ErrorCode::kNotFound)
      verdict.problems.push_back("it does not open: " + opened.error().message());
    return;
  }
  Filesystem& filesystem = **opened;
  Result<Tree> tree = tree_of(filesystem);
  if (!tree) {
    verdict.problems.push_back("the tree cannot be read: " + tree.error().message());
    return;
  }
  verdict.tree = std::move(tree->text);
  if (!inodes_become(filesystem, tree->inodes)) verdict.problems.emplace_back("inodes without a name stay");
  if (const auto synced = filesystem.sync(); !synced)
    verdict.problems.push_back("sync after the recovery: " + synced.error().message());
  check_filesystem(filesystem, verdict.problems);
  if (const auto closed = filesystem.close(); !closed)
    verdict.problems.push_back("closing after the recovery: " + closed.error().message());
}

void check_is_one_of(const std::vector<std::string>& states, History::Range allowed, Verdict& verdict) {
  const auto begin = states.begin() + static_cast<std::ptrdiff_t>(allowed.first);
  const auto end = states.begin() + static_cast<std::ptrdiff_t>(allowed.last) + 1;
  if (std::find(begin, end, verdict.tree) != end) return;
  const auto other = std::ranges::find(states, verdict.tree);
  verdict.problems.push_back(
      "the tree is not one of states " + std::to_string(allowed.first) + " to " + std::to_string(allowed.last) +
      (other == states.end() ? "; to the first: " + difference(states[allowed.first], verdict.tree)
                             : ", but state " + std::to_string(other - states.begin())));
}

}  // namespace

void check_filesystem(Filesystem& filesystem, std::vector<std::string>& problems) {
  CheckReport report([&](const std::string& finding) {
    if (finding.starts_with("error")) problems.push_back("check: " + finding);
  });
  const auto store = check_store(filesystem.volume(), report);
  if (!store) {
    problems.push_back("check of the store ended: " + store.error().message());
    return;
  }
  if (const auto checked = check_namespace(filesystem.volume(), store->chunks, report); !checked)
    problems.push_back("check of the namespace ended: " + checked.error().message());
  if (const auto checked = check_snapshots(filesystem.volume(), store->chunks, report); !checked)
    problems.push_back("check of the snapshots ended: " + checked.error().message());
}

Verdict examine(const DiskImage& image, const History& history, History::Range allowed, bool may_be_absent) {
  Verdict verdict;
  const auto disk = std::make_shared<MemoryDisk>(image);
  recover(disk, verdict, may_be_absent);
  verdict.recovery = disk->events();
  if (!verdict.problems.empty() || verdict.tree.empty()) return verdict;

  verdict.root_may_be_new = history.from_nothing && allowed.last == 0;
  if (verdict.root_may_be_new) {  // it may never have been open, so that no state is known
    if (!is_empty(verdict.tree)) verdict.problems.push_back("the tree of a new volume is not empty: " + verdict.tree);
  } else {
    check_is_one_of(history.states, allowed, verdict);
  }
  if (disk->image().bytes() > image.bytes() + kRecoveryBytes)
    verdict.problems.push_back("the recovery left " + std::to_string(disk->image().bytes()) + " bytes of " +
                               std::to_string(image.bytes()));
  return verdict;
}

void examine_recovery(const DiskImage& disk, Verdict& first, std::uint64_t seed, int times) {
  if (!first.problems.empty() || first.tree.empty() || first.recovery.empty()) return;
  std::mt19937_64 random(seed);
  CrashReplay replay(disk, first.recovery);
  for (int i = 0; i < times && first.problems.empty(); ++i) {
    const std::size_t position = random() % (first.recovery.size() + 1);
    replay.go_to(position);
    Verdict second;
    recover(std::make_shared<MemoryDisk>(replay.state(random() % 40, random())), second, false);
    for (const std::string& problem : second.problems)
      first.problems.push_back("after a crash in the recovery, at " + std::to_string(position) + ": " + problem);
    const bool same = first.root_may_be_new ? is_empty(second.tree) : second.tree == first.tree;
    if (second.problems.empty() && !same)
      first.problems.push_back("a crash in the recovery, at " + std::to_string(position) +
                               ", changed the tree: " + difference(first.tree, second.tree));
  }
}

}  // namespace dedupfs
