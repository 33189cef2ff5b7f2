#include "store/chunks/chunk_table.h"

#include <gtest/gtest.h>

#include "sample_store.h"

namespace dedupfs {
namespace {

ChunkExtent extent_at(std::uint64_t first, const std::vector<std::uint32_t>& lengths) {
  ChunkExtent extent{.first = ChunkId{first}, .place = {}, .chunks = {}};
  for (const std::uint32_t length : lengths) extent.chunks.push_back({.raw_length = length});
  return extent;
}

std::optional<std::uint32_t> length_in(const ChunkTable& table, std::uint64_t id) {
  return table.length_of(ChunkId{id});
}

TEST(ChunkTable, KnowsTheLengthsOfTheChunksOfItsExtentsAndOfNoOthers) {
  ChunkTable table;
  EXPECT_EQ(table.end(), 0u);
  EXPECT_EQ(length_in(table, 0), std::nullopt);

  ASSERT_TRUE(table.add(extent_at(5, {100, 200})));
  ASSERT_TRUE(table.add(extent_at(7, {300})));
  ASSERT_TRUE(table.add(extent_at(20, {400})));

  EXPECT_EQ(length_in(table, 4), std::nullopt);
  EXPECT_EQ(length_in(table, 5), 100u);
  EXPECT_EQ(length_in(table, 6), 200u);
  EXPECT_EQ(length_in(table, 7), 300u);
  EXPECT_EQ(length_in(table, 8), std::nullopt);
  EXPECT_EQ(length_in(table, 20), 400u);
  EXPECT_EQ(length_in(table, 21), std::nullopt);
  EXPECT_EQ(length_in(table, ~std::uint64_t{0}), std::nullopt);
  EXPECT_EQ(table.chunks(), 4u);
  EXPECT_EQ(table.end(), 21u);
}

TEST(ChunkTable, AnExtentThatOverlapsThePredecessorIsRefusedAndChangesNothing) {
  ChunkTable table;
  ASSERT_TRUE(table.add(extent_at(5, {100, 200})));

  for (const std::uint64_t first : {0u, 5u, 6u}) EXPECT_FALSE(table.add(extent_at(first, {1, 2, 3}))) << first;

  EXPECT_EQ(table.chunks(), 2u);
  EXPECT_EQ(length_in(table, 6), 200u);
  EXPECT_TRUE(table.add(extent_at(7, {300})));
}

// ---------------------------------------------------------------- what cannot be read

TEST(ChunkTable, TheFirstReasonStays) {
  ChunkTable table;

  EXPECT_TRUE(table.mark_unreadable(ChunkId{5}, "damaged"));
  EXPECT_FALSE(table.mark_unreadable(ChunkId{5}, "made from a damaged one"));

  EXPECT_TRUE(table.is_unreadable(ChunkId{5}));
  EXPECT_FALSE(table.is_unreadable(ChunkId{6}));
  EXPECT_EQ(table.unreadable().at(5), "damaged");
}

TEST(ChunkTable, WhatIsReadableAgainIsMarkedNoMore) {
  ChunkTable table;
  for (const std::uint64_t id : {1u, 2u, 3u}) table.mark_unreadable(ChunkId{id});

  table.mark_readable(ChunkId{2});
  EXPECT_FALSE(table.is_unreadable(ChunkId{2}));
  EXPECT_EQ(table.unreadable().size(), 2u);

  table.mark_all_readable();
  EXPECT_TRUE(table.unreadable().empty());
}

TEST(ChunkTable, ReasonsTakeAFewMegabytesHoweverManyThereAre) {
  ChunkTable table;
  const std::string why(100'000, 'x');
  for (std::uint64_t id = 0; id < 1000; ++id) EXPECT_TRUE(table.mark_unreadable(ChunkId{id}, why));

  std::size_t bytes = 0;
  for (const auto& [id, reason] : table.unreadable()) bytes += reason.size();

  EXPECT_EQ(table.unreadable().size(), 1000u);
  EXPECT_GT(bytes, std::size_t{1} << 20);
  EXPECT_LT(bytes, std::size_t{5} << 20);
  EXPECT_EQ(table.unreadable().at(999), "unreadable");
}

// ---------------------------------------------------------------- deltas of what cannot be read

class UnreadableDeltasTest : public testing::Test {
 protected:
  void put(std::uint64_t id) { store_.put(id, random_bytes(1000, id)); }
  void put_delta(std::uint64_t id, const std::vector<std::uint64_t>& sources) {
    store_.put_delta(id, random_bytes(1000, id), sources);
  }
  // Of all that the index has.
  ChunkTable table() {
    ChunkTable table;
    const auto walked =
        walk_extents(store_.database(), *store_.database().snapshot(), [&](const ChunkExtent& extent) -> Result<void> {
          EXPECT_TRUE(table.add(extent));
          return {};
        });
    EXPECT_TRUE(walked);
    return table;
  }
  static std::set<std::uint64_t> marked(const ChunkTable& table) {
    std::set<std::uint64_t> ids;
    for (const auto& [id, why] : table.unreadable()) ids.insert(id);
    return ids;
  }
  using Ids = std::set<std::uint64_t>;

  SampleStore store_;
};

TEST_F(UnreadableDeltasTest, WhereAllIsSoundNothingIsMarked) {
  put(1);
  put_delta(2, {1});
  put_delta(3, {1, 2});
  ChunkTable chunks = table();

  ASSERT_TRUE(mark_unreadable_deltas(store_.database(), chunks));

  EXPECT_EQ(marked(chunks), Ids{});
}

TEST_F(UnreadableDeltasTest, ADeltaOfAMissingSourceIsMarkedAndWhatIsMadeFromIt) {
  put(1);
  put(2);
  put_delta(3, {1});
  put_delta(4, {3, 2});
  put_delta(5, {2});
  store_.forget(1);
  ChunkTable chunks = table();

  ASSERT_TRUE(mark_unreadable_deltas(store_.database(), chunks));

  EXPECT_EQ(marked(chunks), (Ids{3, 4}));
}

TEST_F(UnreadableDeltasTest, ADeltaOfADamagedSourceIsMarkedAndTheSourceKeepsItsReason) {
  put(1);
  put_delta(2, {1});
  ChunkTable chunks = table();
  chunks.mark_unreadable(ChunkId{1}, "damaged");

  ASSERT_TRUE(mark_unreadable_deltas(store_.database(), chunks));

  EXPECT_EQ(marked(chunks), (Ids{1, 2}));
  EXPECT_EQ(chunks.unreadable().at(1), "damaged");
}

// Found in one pass each: every source has a higher id than what is made from it.
TEST_F(UnreadableDeltasTest, SourcesMayHaveHigherIds) {
  put(9);
  put_delta(8, {9});
  put_delta(7, {8});
  put_delta(6, {7});
  store_.forget(9);
  ChunkTable chunks = table();

  ASSERT_TRUE(mark_unreadable_deltas(store_.database(), chunks));

  EXPECT_EQ(marked(chunks), (Ids{6, 7, 8}));
}

TEST_F(UnreadableDeltasTest, ADeltaOfWhatMayNotBeItsSourceIsMarked) {
  put(1);
  put_delta(2, {1});
  put_delta(3, {2});
  ChunkTable chunks = table();

  ASSERT_TRUE(mark_unreadable_deltas(store_.database(), chunks, [](ChunkId delta, ChunkId source) {
    return delta != ChunkId{3} || source != ChunkId{2};
  }));

  EXPECT_EQ(marked(chunks), Ids{3});
}

TEST_F(UnreadableDeltasTest, RecordsThatDoNotParseAreLeftToWhoReadsThem) {
  put(1);
  put_delta(2, {1});
  ChunkTable chunks = table();
  store_.forget(1);
  Database::Batch batch(store_.database());
  batch.put(Family::kChunks, encode_extent_key(ChunkId{50}), "no extent");
  ASSERT_TRUE(store_.database().write(batch));

  ASSERT_TRUE(mark_unreadable_deltas(store_.database(), chunks));

  EXPECT_EQ(marked(chunks), Ids{}) << "the table is what counts, and it has 1";
}

}  // namespace
}  // namespace dedupfs
