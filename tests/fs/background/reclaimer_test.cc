#include "fs/background/reclaimer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "ended_reclaim.h"
#include "store/reclaimed_volume.h"
#include "test_filesystem.h"

namespace dedupfs {
namespace {

class ReclaimerTest : public testing::Test {
 protected:
  static constexpr std::chrono::milliseconds kNever = std::chrono::hours(1);

  ReclaimerTest() {
    for (std::uint64_t seed = 0; seed < 10; ++seed) ids_.push_back(volume_.keep(random_bytes(10'000, seed)));
    volume_.drop(ids_, {1, 3, 5});
  }
  ~ReclaimerTest() override { open_the_door(); }

  using Due = std::function<std::optional<ReclaimSettings>()>;

  Reclaimer make(
      std::chrono::milliseconds look_interval = kNever, Due due = [] { return std::nullopt; }) {
    return {volume_.volume(),
            volume_.host(),
            {.look_interval = look_interval,
             .due = [due = std::move(due)](
                        ReclaimGoal goal) { return goal == ReclaimGoal::kFreeSpace ? due() : std::nullopt; },
             .is_idle = [this] { return is_idle_.load(); }}};
  }
  // The next reclaim waits in the middle until open_the_door().
  void close_the_door() {
    door_ = std::promise<void>();
    is_open_ = false;
    volume_.while_marking = [this] {
      reached_.set_value();
      door_.get_future().wait();
    };
  }
  void await_the_door() { reached_.get_future().wait(); }
  void open_the_door() {
    if (!std::exchange(is_open_, true)) door_.set_value();
  }
  void begin_and_pause(Reclaimer& reclaimer) {
    close_the_door();
    ASSERT_TRUE(ok(reclaimer.start({})));
    await_the_door();
    reclaimer.pause();
    open_the_door();
  }

  ReclaimedVolume volume_;
  std::vector<ChunkId> ids_;
  std::atomic<bool> is_idle_ = true;

 private:
  std::promise<void> reached_;
  std::promise<void> door_;
  bool is_open_ = true;
};

// Until chunks were stored anew. False: it has ended. With a low limit it waits from then on, perhaps in the middle of a container.
bool await_moves(const Reclaimer& reclaimer) {
  for (ReclaimStatus status = reclaimer.status(); status.running; status = reclaimer.status()) {
    if (status.current.stored_bytes + status.current.moved_bytes != 0) return true;
    std::this_thread::yield();
  }
  return false;
}

TEST_F(ReclaimerTest, StoresNoMoreASecondThanItsLimitWhichCanBeChanged) {
  Reclaimer reclaimer = make();
  reclaimer.set_rate(1);  // byte a second
  ASSERT_TRUE(ok(reclaimer.start({})));
  ASSERT_TRUE(await_moves(reclaimer));
  EXPECT_TRUE(reclaimer.status().running);
  EXPECT_EQ(reclaimer.status().bytes_per_second, 1U);
  reclaimer.set_rate(0);
  EXPECT_FALSE(await_end(reclaimer).error);
}

TEST_F(ReclaimerTest, ItsLimitHoldsWithinAMoveInOrder) {
  std::vector<ByteBuffer> contents;
  for (std::uint64_t seed = 100; seed < 800; ++seed) contents.push_back(random_bytes(100'000, seed));  // some batches
  volume_.newest = volume_.keep(contents);
  ASSERT_TRUE(volume_.commit());
  for (std::size_t i = 0; i < 80; ++i) volume_.drop(volume_.newest[i]);
  volume_.newest.erase(volume_.newest.begin(), volume_.newest.begin() + 80);
  Reclaimer reclaimer = make();
  reclaimer.set_rate(1);  // byte a second

  ASSERT_TRUE(ok(reclaimer.start({})));
  ASSERT_TRUE(await_moves(reclaimer));
  for (int look = 0; look < 20; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(reclaimer.status().running);
    EXPECT_EQ(reclaimer.status().current.moved_bytes, 0u) << "it does not wait: a container is empty";
  }
  reclaimer.stop();
  ASSERT_TRUE(volume_.commit());
}

TEST_F(ReclaimerTest, RunsWhenSomebodyAsksAndSaysWhatItFound) {
  Reclaimer reclaimer = make();
  EXPECT_FALSE(reclaimer.status().running);
  EXPECT_FALSE(reclaimer.status().last);

  ASSERT_TRUE(ok(reclaimer.start({})));
  const ReclaimStatus::Ended ended = await_end(reclaimer);

  EXPECT_FALSE(ended.error) << ended.error->message();
  EXPECT_EQ(ended.findings.erased_chunks, 3u);
  EXPECT_EQ(ended.findings.emptied_containers, 1u);
  EXPECT_EQ(reclaimer.status().freed_bytes, ended.findings.emptied_bytes - ended.findings.moved_bytes);
  volume_.expect_kept();
}

TEST_F(ReclaimerTest, IsBusyWhileOneRunsAndNotAfterwards) {
  Reclaimer reclaimer = make();
  close_the_door();
  ASSERT_TRUE(ok(reclaimer.start({})));
  EXPECT_TRUE(fails_with(ErrorCode::kBusy, reclaimer.start({})));
  await_the_door();

  EXPECT_TRUE(fails_with(ErrorCode::kBusy, reclaimer.start({})));
  EXPECT_TRUE(reclaimer.status().running);
  EXPECT_EQ(reclaimer.status().phase, ReclaimPhase::kAwait);
  EXPECT_GT(reclaimer.status().seconds, 0);

  open_the_door();
  EXPECT_FALSE(await_end(reclaimer).error);
  ASSERT_TRUE(ok(reclaimer.start({})));
  EXPECT_EQ(await_end(reclaimer).findings.erased_chunks, 0u);
}

TEST_F(ReclaimerTest, OneThatIsPausedGoesOnWhenItIsResumed) {
  Reclaimer reclaimer = make();
  begin_and_pause(reclaimer);
  EXPECT_TRUE(reclaimer.status().running);
  EXPECT_TRUE(reclaimer.status().paused);
  EXPECT_TRUE(fails_with(ErrorCode::kBusy, reclaimer.start({}))) << "it is there still";

  reclaimer.resume();
  EXPECT_EQ(await_end(reclaimer).findings.erased_chunks, 3u);
  EXPECT_FALSE(reclaimer.status().paused);
}

TEST_F(ReclaimerTest, OneThatIsStoppedIsFinishedByTheNext) {
  Reclaimer reclaimer = make();
  close_the_door();
  ASSERT_TRUE(ok(reclaimer.start({})));
  await_the_door();
  reclaimer.pause();  // so that it does not end by itself
  open_the_door();

  reclaimer.stop();

  EXPECT_FALSE(reclaimer.status().running);
  ASSERT_TRUE(reclaimer.status().last && reclaimer.status().last->error);
  EXPECT_EQ(reclaimer.status().last->error->code(), ErrorCode::kInterrupted);
  EXPECT_EQ(volume_.chunks().size(), 10u);
  ASSERT_TRUE(ok(reclaimer.start({})));
  EXPECT_EQ(await_end(reclaimer).findings.erased_chunks, 3u);
  EXPECT_FALSE(reclaimer.status().last->error);
}

TEST_F(ReclaimerTest, OneThatIsRunToItsEndSaysWhatBecameOfIt) {
  Reclaimer reclaimer = make();
  const auto status = run_reclaim(reclaimer, {}, std::chrono::milliseconds(1), [](const auto&) { return true; });

  ASSERT_TRUE(status);
  EXPECT_FALSE(status->running);
  ASSERT_TRUE(status->last);
  EXPECT_EQ(status->last->findings.erased_chunks, 3u);
}

TEST_F(ReclaimerTest, OneThatIsRunEndsWhenItIsToldTo) {
  Reclaimer reclaimer = make();
  close_the_door();
  const auto status = run_reclaim(reclaimer, {}, std::chrono::milliseconds(1), [&](const auto& now) {
    EXPECT_TRUE(now.running);
    await_the_door();
    open_the_door();
    return false;
  });

  ASSERT_TRUE(status);
  EXPECT_FALSE(status->running);
  ASSERT_TRUE(status->last);
}

TEST_F(ReclaimerTest, StoppingWhereNothingRunsIsNothing) {
  Reclaimer reclaimer = make();
  reclaimer.stop();

  ASSERT_TRUE(ok(reclaimer.start({})));
  EXPECT_FALSE(await_end(reclaimer).error);
  reclaimer.stop();
  reclaimer.stop_for_good();
  reclaimer.stop_for_good();
  EXPECT_FALSE(reclaimer.status().running);
}

TEST_F(ReclaimerTest, TheEndOfAMountStopsOneThatIsPaused) {
  {
    Reclaimer reclaimer = make();
    begin_and_pause(reclaimer);
  }
  volume_.expect_kept_for_good();
}

TEST_F(ReclaimerTest, ItsStatusSaysWhyOneFailed) {
  volume_.fail_commit = [] { return true; };
  Reclaimer reclaimer = make();

  ASSERT_TRUE(ok(reclaimer.start({})));
  const auto error = await_end(reclaimer).error;

  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::kNoSpace);
  volume_.fail_commit = nullptr;
  ASSERT_TRUE(ok(reclaimer.start({})));
  EXPECT_FALSE(await_end(reclaimer).error);
}

TEST_F(ReclaimerTest, BeginsByItselfWhenOneIsDue) {
  std::atomic<bool> is_due = false;
  std::atomic<int> asked = 0;
  Reclaimer reclaimer = make(std::chrono::milliseconds(1), [&]() -> std::optional<ReclaimSettings> {
    ++asked;
    return is_due.exchange(false) ? std::optional(ReclaimSettings()) : std::nullopt;
  });
  while (asked < 3) std::this_thread::yield();
  EXPECT_FALSE(reclaimer.status().running);
  EXPECT_FALSE(reclaimer.status().last);

  is_due = true;
  while (!reclaimer.status().last) std::this_thread::yield();

  EXPECT_EQ(reclaimer.status().last->findings.erased_chunks, 3u);
}

TEST_F(ReclaimerTest, OneThatYieldsWaitsUntilTheVolumeIsIdle) {
  is_idle_ = false;
  Reclaimer reclaimer = make();
  ASSERT_TRUE(ok(reclaimer.start({.yields = true})));
  while (!reclaimer.status().waiting) std::this_thread::yield();
  EXPECT_TRUE(reclaimer.status().running);

  is_idle_ = true;

  EXPECT_EQ(await_end(reclaimer).findings.erased_chunks, 3u);
  EXPECT_FALSE(reclaimer.status().waiting);
}

TEST_F(ReclaimerTest, OneThatYieldsGivesWayToOneThatSomebodyAsksFor) {
  is_idle_ = false;
  Reclaimer reclaimer = make();
  ASSERT_TRUE(ok(reclaimer.start({.yields = true})));
  while (!reclaimer.status().waiting) std::this_thread::yield();

  ASSERT_TRUE(ok(reclaimer.start({})));  // which does not wait

  EXPECT_EQ(await_end(reclaimer).findings.erased_chunks, 3u);
}

TEST_F(ReclaimerTest, OneThatYieldsWorksForItsShareOfTheTime) {
  Reclaimer reclaimer(
      volume_.volume(), volume_.host(),
      {.look_interval = kNever, .due = [](ReclaimGoal) { return std::nullopt; }, .yielding_cpu_percent = 1});
  close_the_door();
  ASSERT_TRUE(ok(reclaimer.start({.yields = true})));
  await_the_door();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // that is its work
  const auto begin = std::chrono::steady_clock::now();
  open_the_door();

  await_end(reclaimer);

  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20 * 99));
}

TEST_F(ReclaimerTest, PausesDoNotCountForTheTimeThatIsLeft) {
  Reclaimer reclaimer = make();
  begin_and_pause(reclaimer);

  bool stands_still = false;
  for (int i = 0; i < 1200 && !stands_still; ++i) {
    const ReclaimStatus before = reclaimer.status();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const ReclaimStatus after = reclaimer.status();
    EXPECT_TRUE(after.running);
    EXPECT_GE(after.seconds, before.seconds + 0.05);
    stands_still = after.phase_seconds < before.phase_seconds + 0.01;
  }

  EXPECT_TRUE(stands_still);
  reclaimer.resume();
  await_end(reclaimer);
}

TEST_F(ReclaimerTest, TheEndOfAMountStopsOneThatWaits) {
  is_idle_ = false;
  {
    Reclaimer reclaimer = make();
    ASSERT_TRUE(ok(reclaimer.start({.yields = true})));
    while (!reclaimer.status().waiting) std::this_thread::yield();
  }
  volume_.expect_kept();
}

TEST_F(ReclaimerTest, NoneBeginsByItselfWhilePaused) {
  std::atomic<int> asked = 0;
  Reclaimer reclaimer = make(std::chrono::milliseconds(1), [&]() -> std::optional<ReclaimSettings> {
    ++asked;
    return std::nullopt;
  });
  reclaimer.pause();
  while (asked == 0 && !reclaimer.status().paused) std::this_thread::yield();
  const int before = asked;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // of which each would be enough
  EXPECT_LE(asked, before + 1) << "one may have been under way";

  reclaimer.resume();
  while (asked <= before + 1) std::this_thread::yield();
}

}  // namespace
}  // namespace dedupfs
