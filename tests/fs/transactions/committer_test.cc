#include "fs/transactions/committer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

namespace dedupfs {
namespace {

using namespace std::chrono_literals;

// Counts what the committer does; changes are a number that a commit makes durable.
struct Group {
  std::atomic<int> changes = 0;
  std::atomic<int> durable = 0;
  std::atomic<int> prepared = 0;
  std::atomic<int> commits = 0;
  std::atomic<int> to_clean = 0;
  std::atomic<int> failures = 0;  // to come
  std::chrono::milliseconds commit_takes{0};

  Committer::Duties duties() {
    return {.has_changes = [this] { return changes != durable; },
            .prepare = [this] { ++prepared; },
            .commit = [this]() -> Result<void> {
              const int taken = changes;
              std::this_thread::sleep_for(commit_takes);
              ++commits;
              if (failures > 0) {
                --failures;
                return Error{ErrorCode::kNoSpace, "full"};
              }
              durable = taken;
              return {};
            },
            .background_step = [this] { return --to_clean > 0; }};
  }
};

template <class Condition>
bool eventually(const Condition& condition) {
  for (int i = 0; i < 500; ++i, std::this_thread::sleep_for(10ms))
    if (condition()) return true;
  return false;
}

TEST(Committer, DoesItsDutyOnceAnIntervalWithoutACommit) {
  Group group;
  std::atomic<int> done = 0;
  Committer::Duties duties = group.duties();
  duties.now_and_then = [&] { ++done; };
  Committer committer(1ms, duties);

  EXPECT_TRUE(eventually([&] { return done > 2; }));
  committer.stop();
  EXPECT_EQ(group.commits, 0);
}

TEST(Committer, ADutyThatWantsACommitDoesNotWaitForIt) {
  Group group{.changes = 1};
  std::atomic<Committer*> committer = nullptr;
  Committer::Duties duties = group.duties();
  duties.now_and_then = [&] {
    if (Committer* const mine = committer.exchange(nullptr)) {
      ++group.changes;
      (void)mine->commit();
    }
  };
  Committer its_committer(1ms, duties);
  committer = &its_committer;

  EXPECT_TRUE(eventually([&] { return committer == nullptr && group.durable == 2; }));
  its_committer.stop();
}

TEST(Committer, WhatHappenedBeforeTheCallIsDurableAfterIt) {
  Group group{.commit_takes = 2ms};
  Committer committer(1h, group.duties());
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        const int mine = ++group.changes;
        ASSERT_TRUE(committer.commit());
        ASSERT_GE(group.durable, mine);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(group.commits, 160);  // callers shared commits
}

TEST(Committer, WithoutChangesThereIsNoCommit) {
  Group group;
  Committer committer(1h, group.duties());

  EXPECT_TRUE(committer.commit());

  EXPECT_EQ(group.commits, 0);
}

TEST(Committer, ChangesAreCommittedInTime) {
  Group group;
  Committer committer(20ms, group.duties());

  ++group.changes;

  EXPECT_TRUE(eventually([&] { return group.durable == 1; }));
}

TEST(Committer, AFailureReachesThoseWhoWaitedAndTheNextCommitTriesAgain) {
  Group group{.changes = 1, .failures = 1};
  Committer committer(1h, group.duties());

  const Result<void> failed = committer.commit();
  const Result<void> repeated = committer.commit();

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::kNoSpace);
  EXPECT_TRUE(repeated);
}

TEST(Committer, PressureIsAnsweredWithoutACommit) {
  Group group;
  Committer committer(1h, group.duties());

  committer.request_prepare();

  EXPECT_TRUE(eventually([&] { return group.prepared == 1; }));
  EXPECT_EQ(group.commits, 0);
}

TEST(Committer, CleansUpPieceByPieceUntilNothingIsLeft) {
  Group group{.to_clean = 5};
  Committer committer(1h, group.duties());

  committer.request_background_step();

  EXPECT_TRUE(eventually([&] { return group.to_clean == 0; }));
}

// The next commit is wanted before one has ended, and there is something to clean up.
class BusyCommitter {
 public:
  explicit BusyCommitter(Group& group) : committer_(1h, duties_of(group)) {
    committer_.request_commit();
    committer_.request_background_step();
  }
  ~BusyCommitter() { is_done_ = true; }

 private:
  Committer::Duties duties_of(Group& group) {
    auto duties = group.duties();
    duties.commit = [this, commit = duties.commit] {
      if (!is_done_) committer_.request_commit();
      return commit();
    };
    return duties;
  }

  std::atomic<bool> is_done_ = false;
  Committer committer_;
};

TEST(Committer, WhoeverCommitsAllTheTimeDoesNotKeepItFromCleaningUp) {
  Group group{.to_clean = 5};
  const BusyCommitter committer(group);

  EXPECT_TRUE(eventually([&] { return group.to_clean == 0; }));
}

// A step a commit would not be enough: a writer who syncs all the time deletes more than that between two of them.
TEST(Committer, CleaningUpGetsAPartOfTheTimeOfCommitsThatFollowOneAnother) {
  constexpr int kSteps = 400;
  Group group{.to_clean = kSteps, .commit_takes = 20ms};
  const BusyCommitter committer(group);

  EXPECT_TRUE(eventually([&] { return group.to_clean == 0; }));
  EXPECT_LT(group.commits, kSteps / 10);
}

TEST(Committer, StoppingWakesThoseWhoWait) {
  Group group{.changes = 1};
  std::atomic<int> asked = 0;
  std::promise<void> ends;
  Committer::Duties duties = group.duties();
  duties.has_changes = [&, inner = duties.has_changes] {
    const bool changes = inner();
    ++asked;
    return changes;
  };
  duties.commit = [&, inner = duties.commit] {
    ends.get_future().wait();
    return inner();
  };
  Committer committer(1h, std::move(duties));
  auto first = std::async(std::launch::async, [&] { return committer.commit(); });
  ASSERT_TRUE(eventually([&] { return group.prepared == 1; }));
  const int before = asked;
  auto second = std::async(std::launch::async, [&] { return committer.commit(); });
  ASSERT_TRUE(eventually([&] { return asked > before; }));  // from then on it holds the lock until it waits

  std::promise<void> stopping;
  auto stopped = std::async(std::launch::async, [&] {
    stopping.set_value();
    committer.stop();
  });
  stopping.get_future().wait();
  std::this_thread::sleep_for(100ms);  // a stop that comes later would find nobody waiting
  ends.set_value();

  EXPECT_TRUE(first.get());
  EXPECT_FALSE(second.get());
}

}  // namespace
}  // namespace dedupfs
