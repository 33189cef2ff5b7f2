#include "store/moved_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using ::testing::ElementsAre;

ChunkRun run_of(std::uint64_t first, std::size_t count, std::uint32_t container) {
  ChunkRun run;
  run.first = ChunkId{first};
  run.place = {container, 64};
  run.region_disk_bytes = 1000;
  run.region_payload_bytes = 2000;
  for (std::size_t i = 0; i < count; ++i) run.chunks.push_back({static_cast<std::uint32_t>(first + i), 0, {}});
  return run;
}

class MovedRunsTest : public ::testing::Test {
 protected:
  MovedRunsTest() {
    EXPECT_TRUE(Database::create(dir_.path() / "index"));
    database_ = std::move(*Database::open(dir_.path() / "index", {}));
  }

  void put(const std::vector<ChunkRun>& moved) {
    Database::Batch batch(*database_);
    ASSERT_TRUE(put_moved_runs(*database_, moved, batch));
    ASSERT_TRUE(database_->write(batch));
  }

  std::vector<ChunkRun> runs() const {
    std::vector<ChunkRun> all;
    const auto entries = database_->list(Family::kChunks, {}, {}, 10000);
    for (const auto& [key, value] : *entries) all.push_back(*decode_run(key, value));
    return all;
  }

  TempDir dir_;
  std::unique_ptr<Database> database_;
};

TEST(CutOut, LeavesWhatLiesInFrontAndBehind) {
  const ChunkRun run = run_of(10, 5, 1);
  EXPECT_THAT(cut_out(run, ChunkId{12}, ChunkId{12}), ElementsAre(run_of(10, 2, 1), run_of(13, 2, 1)));
  EXPECT_THAT(cut_out(run, ChunkId{10}, ChunkId{11}), ElementsAre(run_of(12, 3, 1)));
  EXPECT_THAT(cut_out(run, ChunkId{13}, ChunkId{20}), ElementsAre(run_of(10, 3, 1)));
  EXPECT_THAT(cut_out(run, ChunkId{1}, ChunkId{14}), ElementsAre());
}

TEST_F(MovedRunsTest, CutsTheOlderRunAroundThem) {
  put({run_of(10, 10, 1)});
  put({run_of(12, 1, 2), run_of(15, 2, 2)});
  EXPECT_THAT(runs(),
              ElementsAre(run_of(10, 2, 1), run_of(12, 1, 2), run_of(13, 2, 1), run_of(15, 2, 2), run_of(17, 3, 1)));
}

TEST_F(MovedRunsTest, ReplacesARunWhole) {
  put({run_of(10, 3, 1), run_of(13, 3, 1)});
  put({run_of(10, 6, 2)});
  EXPECT_THAT(runs(), ElementsAre(run_of(10, 6, 2)));
}

TEST_F(MovedRunsTest, LeavesNeighboursAlone) {
  put({run_of(10, 3, 1), run_of(16, 3, 1)});
  put({run_of(13, 3, 2)});
  EXPECT_THAT(runs(), ElementsAre(run_of(10, 3, 1), run_of(13, 3, 2), run_of(16, 3, 1)));
}

TEST_F(MovedRunsTest, EveryChunkIsWhereItWasPutLast) {
  std::mt19937 random(7);
  std::map<std::uint64_t, std::uint32_t> model;
  for (std::uint32_t container = 1; container <= 300; ++container) {
    std::vector<ChunkRun> moved;
    for (std::uint64_t first = 1 + random() % 20; first < 100; first += random() % 40) {
      moved.push_back(run_of(first, 1 + random() % 12, container));
      for (std::size_t i = 0; i < moved.back().chunks.size(); ++i) model[first + i] = container;
      first += moved.back().chunks.size();
    }
    put(moved);
    std::map<std::uint64_t, std::uint32_t> found;
    for (const ChunkRun& run : runs()) {
      for (std::size_t i = 0; i < run.chunks.size(); ++i) {
        EXPECT_TRUE(found.emplace(number_of(run.first) + i, run.place.container).second) << "two runs have it";
        EXPECT_EQ(run.chunks[i].raw_length, number_of(run.first) + i);
      }
    }
    ASSERT_EQ(found, model);
  }
}

}  // namespace
}  // namespace dedupfs
