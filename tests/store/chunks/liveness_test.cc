#include "store/chunks/liveness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <thread>

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr std::uint64_t kEnd = 200;

class LivenessTest : public testing::Test {
 protected:
  bool claim(std::uint64_t number) { return Liveness::Lookup(liveness_).claim(ChunkId{number}); }
  void store(std::uint64_t number) { Liveness::Lookup(liveness_).note_stored(ChunkId{number}); }
  void start_erasing() {
    (void)liveness_.take_claimed();
    ASSERT_TRUE(liveness_.start_erasing());
  }
  void finish() {
    liveness_.finish([] {});
  }

  Liveness liveness_;
};

TEST_F(LivenessTest, WithoutAReclaimEveryChunkMayBeReferredTo) {
  EXPECT_TRUE(claim(0));
  EXPECT_TRUE(claim(kEnd + 1));
  store(3);
  EXPECT_THAT(liveness_.take_claimed(), IsEmpty());
}

TEST_F(LivenessTest, AChunkIsLiveOnceItWasMarked) {
  liveness_.start_marking(kEnd);
  EXPECT_FALSE(liveness_.is_live(ChunkId{5}));

  EXPECT_TRUE(liveness_.mark(ChunkId{5}));
  EXPECT_FALSE(liveness_.mark(ChunkId{5})) << "it was marked before";

  EXPECT_TRUE(liveness_.is_live(ChunkId{5}));
  EXPECT_FALSE(liveness_.is_live(ChunkId{4}));
  EXPECT_FALSE(liveness_.is_live(ChunkId{6}));
  EXPECT_THAT(liveness_.take_claimed(), IsEmpty()) << "who marks knows what it is made from";
}

TEST_F(LivenessTest, IdsThatWereGivenAwayTakeNoMemory) {
  liveness_.start_marking(std::uint64_t{1} << 60, 1 << 20);

  EXPECT_TRUE(liveness_.mark(ChunkId{16'000'000'000}));

  EXPECT_TRUE(liveness_.is_live(ChunkId{16'000'000'000}));
  EXPECT_FALSE(liveness_.is_live(ChunkId{15'999'999'999}));
  EXPECT_TRUE(liveness_.require_complete());
}

TEST_F(LivenessTest, WhereMarksFindNoRoomNothingIsDead) {
  constexpr std::uint64_t kFarApart = std::uint64_t{1} << 40;
  liveness_.start_marking(kFarApart * 10'000, 1 << 20);

  for (std::uint64_t i = 0; i < 10'000; ++i) (void)liveness_.mark(ChunkId{i * kFarApart});

  EXPECT_FALSE(liveness_.require_complete());
  EXPECT_TRUE(liveness_.is_live(ChunkId{9'999 * kFarApart}));
  EXPECT_TRUE(liveness_.is_live(ChunkId{1})) << "nobody knows";
}

TEST_F(LivenessTest, EveryBitStandsForOneChunk) {
  liveness_.start_marking(kEnd);
  for (std::uint64_t number = 0; number < kEnd; number += 3) EXPECT_TRUE(liveness_.mark(ChunkId{number}));

  for (std::uint64_t number = 0; number < kEnd; ++number)
    EXPECT_EQ(liveness_.is_live(ChunkId{number}), number % 3 == 0) << number;
}

TEST_F(LivenessTest, IdsThatAreGivenAwayLaterAreLive) {
  liveness_.start_marking(kEnd);

  EXPECT_TRUE(liveness_.is_live(ChunkId{kEnd}));
  EXPECT_TRUE(liveness_.is_live(ChunkId{~std::uint64_t{0}}));
  EXPECT_FALSE(liveness_.mark(ChunkId{kEnd}));
  store(kEnd);
  EXPECT_TRUE(claim(kEnd + 7));
  EXPECT_THAT(liveness_.take_claimed(), IsEmpty());
}

TEST_F(LivenessTest, WhatIsClaimedWhileMarkingIsLiveAndHandedOverOnce) {
  liveness_.start_marking(kEnd);
  (void)liveness_.mark(ChunkId{1});

  EXPECT_TRUE(claim(1));
  EXPECT_TRUE(claim(2));
  EXPECT_TRUE(claim(2));
  store(3);

  EXPECT_THAT(liveness_.take_claimed(), UnorderedElementsAre(ChunkId{2}, ChunkId{3}));
  EXPECT_THAT(liveness_.take_claimed(), IsEmpty());
  EXPECT_TRUE(liveness_.is_live(ChunkId{2}));
  EXPECT_TRUE(liveness_.is_live(ChunkId{3}));
}

TEST_F(LivenessTest, ErasingBeginsOnlyWhenEveryClaimWasTaken) {
  liveness_.start_marking(kEnd);
  EXPECT_TRUE(claim(2));

  EXPECT_FALSE(liveness_.start_erasing());
  EXPECT_TRUE(claim(3)) << "it is marking still";
  EXPECT_THAT(liveness_.take_claimed(), ElementsAre(ChunkId{2}, ChunkId{3}));

  EXPECT_TRUE(liveness_.start_erasing());
  EXPECT_FALSE(claim(4));
}

TEST_F(LivenessTest, WhileErasingTheDeadAreRefusedAndTheLiveAreNot) {
  liveness_.start_marking(kEnd);
  (void)liveness_.mark(ChunkId{1});
  EXPECT_TRUE(claim(2));
  start_erasing();

  EXPECT_TRUE(claim(1));
  EXPECT_TRUE(claim(2));
  EXPECT_FALSE(claim(3));
  EXPECT_FALSE(claim(3)) << "asking does not make it live";
  EXPECT_TRUE(claim(kEnd));
}

// The rest of a block of ids that was taken before.
TEST_F(LivenessTest, AnOlderIdThatIsGivenAwayWhileErasingIsLiveFromThenOn) {
  liveness_.start_marking(kEnd);
  start_erasing();

  store(7);

  EXPECT_TRUE(claim(7));
  EXPECT_TRUE(liveness_.is_live(ChunkId{7}));
}

TEST_F(LivenessTest, AfterTheEndEveryChunkMayBeReferredToAgain) {
  liveness_.start_marking(kEnd);
  start_erasing();
  EXPECT_FALSE(claim(3));

  finish();

  EXPECT_TRUE(claim(3));
}

TEST_F(LivenessTest, AReclaimCanEndWhileItMarks) {
  liveness_.start_marking(kEnd);
  EXPECT_TRUE(claim(3));

  finish();

  EXPECT_TRUE(claim(4));
  liveness_.start_marking(kEnd);
  EXPECT_THAT(liveness_.take_claimed(), IsEmpty()) << "what the one before left is not its business";
  EXPECT_FALSE(liveness_.is_live(ChunkId{3}));
}

TEST_F(LivenessTest, NothingIsForgottenWhereNothingEnds) {
  liveness_.finish([] { ADD_FAILURE() << "there is no reclaim"; });

  int forgotten = 0;
  liveness_.start_marking(kEnd);
  liveness_.finish([&] { ++forgotten; });
  EXPECT_EQ(forgotten, 1);
}

TEST_F(LivenessTest, NoPhaseEndsWithinALookUp) {
  liveness_.start_marking(kEnd);
  std::optional<Liveness::Lookup> lookup(std::in_place, liveness_);
  std::atomic<bool> erasing = false;
  std::thread reclaim([&] {
    // What this look-up claims must be taken first.
    while (!liveness_.start_erasing()) (void)liveness_.take_claimed();
    erasing = true;
  });

  for (int i = 0; i < 20 && !erasing; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(erasing);
  EXPECT_TRUE(lookup->claim(ChunkId{3}));
  lookup.reset();
  reclaim.join();

  EXPECT_TRUE(claim(3));
  EXPECT_FALSE(claim(4));
}

// Claims compete with phases that change all the time. Whoever was allowed to refer to a chunk must find it live when what is
// dead is taken away, and nobody may be told that he may when it is gone already.
TEST_F(LivenessTest, NobodyRefersToWhatIsErasedHoweverTheyMeet) {
  constexpr int kRounds = 300;
  constexpr std::uint64_t kChunks = 64;
  std::array<std::atomic<bool>, kChunks> there{};
  for (auto& chunk : there) chunk = true;
  std::atomic<bool> done = false;
  std::atomic<int> lost = 0;
  std::atomic<std::uint64_t> referred = 0;
  const auto refer = [&](std::uint64_t seed) {
    for (std::uint64_t i = seed; !done; i = i * 6364136223846793005u + 1442695040888963407u) {
      const std::uint64_t number = i >> 58;
      Liveness::Lookup lookup(liveness_);
      if (!there[number]) continue;  // the look-up in the index
      std::this_thread::yield();
      if (!lookup.claim(ChunkId{number})) continue;
      std::this_thread::yield();
      ++referred;
      if (!there[number]) ++lost;
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) threads.emplace_back(refer, seed);

  for (int round = 0; round < kRounds || referred < 1000; ++round) {
    liveness_.start_marking(kChunks);
    (void)liveness_.mark(ChunkId{0});
    std::set<ChunkId> claimed;
    do {
      for (const ChunkId id : liveness_.take_claimed()) EXPECT_TRUE(claimed.insert(id).second);
    } while (!liveness_.start_erasing());
    for (std::uint64_t number = 0; number < kChunks; ++number)
      if (!liveness_.is_live(ChunkId{number})) {
        EXPECT_FALSE(claimed.contains(ChunkId{number}));
        there[number] = false;
      }
    liveness_.finish([] {});
    for (auto& chunk : there) chunk = true;  // stored anew
  }
  done = true;
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(lost, 0);
  EXPECT_GT(referred, 0u);
}

}  // namespace
}  // namespace dedupfs
