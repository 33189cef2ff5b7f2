#include "store/chunks/run_overlay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Chunks say in their length which run they came with.
ChunkRun run_of(std::uint64_t first, std::size_t count, std::uint32_t container) {
  ChunkRun run{.first = ChunkId{first},
               .place = {container, 64},
               .region_disk_bytes = 1000,
               .region_payload_bytes = 2000,
               .chunks = {}};
  for (std::size_t i = 0; i < count; ++i) run.chunks.push_back({.raw_length = container * 1000 + std::uint32_t(i)});
  return run;
}

TEST(Carve, LeavesWhatLiesBeforeAndBehind) {
  const ChunkRun run = run_of(10, 10, 1);

  const auto left = carve(run, ChunkId{13}, 4);

  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].first, ChunkId{10});
  EXPECT_EQ(left[0].chunks.size(), 3u);
  EXPECT_EQ(left[1].first, ChunkId{17});
  EXPECT_EQ(left[1].chunks, std::vector(run.chunks.begin() + 7, run.chunks.end()));
  EXPECT_EQ(left[1].place, run.place);
}

TEST(Carve, LeavesAllOfARunBesideAndNothingOfOneInside) {
  const ChunkRun run = run_of(10, 10, 1);

  EXPECT_THAT(carve(run, ChunkId{20}, 5), ElementsAre(run));
  EXPECT_THAT(carve(run, ChunkId{5}, 5), ElementsAre(run));
  EXPECT_THAT(carve(run, ChunkId{10}, 10), IsEmpty());
  EXPECT_THAT(carve(run, ChunkId{1}, 100), IsEmpty());
}

class RunOverlayTest : public testing::Test {
 protected:
  RunOverlayTest() {
    EXPECT_TRUE(Database::create(folder_at(directory_.path() / "index")));
    database_ = std::move(*Database::open(folder_at(directory_.path() / "index"), {.memory_bytes = 8 << 20}));
  }

  void write(RunOverlay& overlay) {
    Database::Batch batch(*database_);
    overlay.append_to(batch);
    ASSERT_TRUE(database_->write(batch));
  }
  // Chunk by chunk, as its length tells where it is; fails if runs overlap.
  std::map<std::uint64_t, std::uint32_t> chunks() {
    std::map<std::uint64_t, std::uint32_t> chunks;
    std::uint64_t end = 0;
    const auto stored = database_->list(Family::kChunks, {}, {}, 100'000).value();
    for (const auto& [key, value] : stored) {
      const ChunkRun run = decode_run(key, value).value();
      EXPECT_GE(number_of(run.first), end) << "runs overlap";
      for (std::size_t i = 0; i < run.chunks.size(); ++i)
        chunks[number_of(run.id_of(i))] = run.place.container * 1'000'000 + run.chunks[i].raw_length;
      end = number_of(run.first) + run.chunks.size();
    }
    return chunks;
  }

  TempDir directory_;
  std::unique_ptr<Database> database_;
};

// Compared with a map that holds each chunk by itself, over many writes.
TEST_F(RunOverlayTest, OfAChunkThatOccursAgainTheLaterPlaceCountsUntilItIsRemoved) {
  std::mt19937_64 random(7);
  std::map<std::uint64_t, std::uint32_t> expected;
  RunOverlay overlay(*database_);
  for (std::uint32_t container = 1; container <= 600; ++container) {
    const ChunkRun run = run_of(1 + random() % 2000, 1 + random() % 64, container);
    for (std::size_t i = 0; i < run.chunks.size(); ++i)
      expected[number_of(run.id_of(i))] = container * 1'000'000 + run.chunks[i].raw_length;
    ASSERT_TRUE(overlay.lay(run));
    const std::uint64_t first = 1 + random() % 2000;
    const std::uint64_t count = random() % 40;
    expected.erase(expected.lower_bound(first), expected.lower_bound(first + count));
    ASSERT_TRUE(overlay.remove(ChunkId{first}, count));
    if (random() % 20 == 0) write(overlay);
  }
  write(overlay);

  EXPECT_EQ(chunks(), expected);
}

TEST_F(RunOverlayTest, RunsBesideThoseThatAreLaidStayAsTheyAre) {
  RunOverlay overlay(*database_);
  for (const ChunkRun& run : {run_of(10, 3, 1), run_of(16, 3, 1)}) ASSERT_TRUE(overlay.lay(run));
  write(overlay);
  ASSERT_TRUE(overlay.lay(run_of(13, 3, 2)));

  Database::Batch batch(*database_);
  overlay.append_to(batch);
  Database::Batch only_the_new_one(*database_);
  only_the_new_one.put(Family::kChunks, encode_run_key(ChunkId{13}), encode_run(run_of(13, 3, 2)));
  EXPECT_EQ(batch.size_bytes(), only_the_new_one.size_bytes());
}

TEST_F(RunOverlayTest, WhatIsRemovedFromTheMiddleLeavesBothEnds) {
  RunOverlay overlay(*database_);
  ASSERT_TRUE(overlay.lay(run_of(10, 10, 1)));
  write(overlay);

  ASSERT_TRUE(overlay.remove(ChunkId{13}, 4));
  write(overlay);

  const auto stored = database_->list(Family::kChunks, {}, {}, 10).value();
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_EQ(decode_run(stored[0].first, stored[0].second).value(), run_of(10, 10, 1).part(0, 3));
  EXPECT_EQ(decode_run(stored[1].first, stored[1].second).value(), run_of(10, 10, 1).part(7, 10));
}

TEST_F(RunOverlayTest, WhereNothingIsNothingIsRemoved) {
  RunOverlay overlay(*database_);
  ASSERT_TRUE(overlay.lay(run_of(10, 3, 1)));
  write(overlay);

  ASSERT_TRUE(overlay.remove(ChunkId{13}, 5));
  ASSERT_TRUE(overlay.remove(ChunkId{5}, 5));

  Database::Batch batch(*database_);
  overlay.append_to(batch);
  EXPECT_TRUE(batch.empty());
}

}  // namespace
}  // namespace dedupfs
