#include "store/chunks/extent_finder.h"

#include <gtest/gtest.h>

#include <random>

#include "store/chunks/chunk_reader.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

class ExtentFinderTest : public testing::Test {
 protected:
  static std::unique_ptr<Database> make_database(const Path& path) {
    EXPECT_TRUE(Database::create(folder_at(path)));
    return std::move(*Database::open(folder_at(path), {.memory_bytes = 8 << 20}));
  }

  void put(std::uint64_t first, std::size_t count) {
    ChunkExtent extent{
        .first = ChunkId{first}, .place = {1, 64}, .region_disk_bytes = 10, .region_payload_bytes = 20, .chunks = {}};
    extent.chunks.assign(count, {.raw_length = 100});
    batch_.put(Family::kChunks, encode_extent_key(extent.first), encode_extent(extent));
  }
  void erase(std::uint64_t first) { batch_.erase(Family::kChunks, encode_extent_key(ChunkId{first})); }
  void write() {
    ASSERT_TRUE(database_->write(batch_));
    batch_ = Database::Batch(*database_);
  }
  // The first chunk of its extent; 0: none.
  static std::uint64_t first_of(const ChunkExtent* extent) { return extent == nullptr ? 0 : number_of(extent->first); }
  std::uint64_t find(std::uint64_t id) { return first_of(finder_.find(ChunkId{id}).value()); }
  std::uint64_t find_place(std::uint64_t id) {
    const ExtentFront* const extent = places_.find(ChunkId{id}).value();
    if (extent == nullptr) return 0;
    EXPECT_EQ(extent->place, (RegionPlace{1, 64}));
    return number_of(extent->first);
  }
  std::uint64_t find_in_database(std::uint64_t id) {
    const auto extent = find_extent(*database_, ChunkId{id}).value();
    EXPECT_EQ(has_chunk(*database_, ChunkId{id}).value(), extent.has_value()) << id;
    return first_of(extent ? &*extent : nullptr);
  }

  TempDir directory_;
  std::unique_ptr<Database> database_ = make_database(directory_.path() / "index");
  Database::Batch batch_{*database_};
  ExtentFinder finder_{*database_};
  PlaceFinder places_{*database_};
};

TEST_F(ExtentFinderTest, FindsWhatTheIndexHas) {
  std::mt19937_64 random(1);
  std::uint64_t end = 1;
  for (int i = 0; i < 3000; ++i) {
    const std::size_t count = random() % 200 + 1;  // more in all than it keeps
    if (random() % 3 != 0) put(end, count);
    end += count;
  }
  write();
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t id = i % 2 == 0 ? random() % end : static_cast<std::uint64_t>(i);
    ASSERT_EQ(find(id), find_in_database(id)) << id;
    ASSERT_EQ(find_place(id), find_in_database(id)) << id;
  }
}

TEST_F(ExtentFinderTest, WhatItFoundStaysUntilItForgetsAll) {
  put(10, 5);
  write();
  EXPECT_EQ(find(12), 10u);
  EXPECT_EQ(find(30), 0u);
  erase(10);
  put(30, 1);
  write();
  EXPECT_EQ(find(11), 10u);
  EXPECT_EQ(find(30), 0u);

  finder_.forget_all();

  EXPECT_EQ(find(11), 0u);
  EXPECT_EQ(find(30), 30u);
}

TEST_F(ExtentFinderTest, TheLongestRunIsFoundFromItsEnd) {
  put(100, kMaxChunksPerExtent);
  write();
  const std::uint64_t last = 100 + kMaxChunksPerExtent - 1;
  EXPECT_EQ(find_in_database(last), 100u);
  EXPECT_EQ(find_in_database(last + 1), 0u);
}

}  // namespace
}  // namespace dedupfs
