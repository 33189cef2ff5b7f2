#include "store/relocation/relocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "moving_store.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// ---------------------------------------------------------------- what a delta may be made from

std::vector<std::uint64_t> sources_around(std::uint64_t base, std::uint64_t chunk,
                                          const std::set<std::uint64_t>& not_these = {}) {
  const DeltaBasis basis =
      basis_around(ChunkId{base}, ChunkId{chunk}, [&](ChunkId id) { return !not_these.contains(number_of(id)); });
  EXPECT_EQ(basis.base, ChunkId{base});
  std::vector<std::uint64_t> numbers;
  for (const ChunkId id : basis.sources) numbers.push_back(number_of(id));
  return numbers;
}

TEST(BasisAround, ABaseComesWithWhatWasStoredBesideIt) {
  EXPECT_THAT(sources_around(10, 99), ElementsAre(8, 9, 10, 11, 12));
  EXPECT_THAT(sources_around(1, 99), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(sources_around(0, 99), ElementsAre(0, 1, 2));
}

TEST(BasisAround, NoChunkIsItsOwnSourceAndOnlyWhatStaysIsOne) {
  EXPECT_THAT(sources_around(10, 11), ElementsAre(8, 9, 10, 12));
  EXPECT_THAT(sources_around(10, 99, {9, 12}), ElementsAre(8, 10, 11));
  EXPECT_THAT(sources_around(10, 99, {8, 9, 10, 11, 12}), IsEmpty());
}

// ---------------------------------------------------------------- storing a delta anew

// 2 is a delta that is made from 1; 10 is as much like it as 1.
class ReencodeTest : public testing::Test {
 protected:
  ReencodeTest() {
    store_.put(1, MovingStore::content(1));
    store_.put_delta(2, chunk_, {1});
    store_.put(10, twin_);
    store_.put(20, MovingStore::content(20));
  }

  DeltaBasis basis(const std::vector<std::uint64_t>& ids) const { return {sources_of(ids), ChunkId{ids.front()}}; }
  Result<std::uint32_t> store(const std::vector<DeltaBasis>& bases, std::uint64_t max_bytes = 1 << 20,
                              std::uint64_t id = 2) {
    return store_.relocator().reencode(
        extent_ ? *extent_ : store_.extent_of(id).value(), ChunkId{id}, bases,
        [this](ChunkId source) { return !goes_.contains(number_of(source)); }, max_bytes, store_.in_group());
  }
  ErrorCode code_of(const Result<std::uint32_t>& stored) const {
    EXPECT_FALSE(stored);
    return stored ? ErrorCode{} : stored.error().code();
  }
  void expect_reads_the_same() { EXPECT_EQ(store_.read(2), text_of(chunk_)); }

  MovingStore store_;
  const ByteBuffer chunk_ = edited(MovingStore::content(1));
  const ByteBuffer twin_ = [this] {
    ByteBuffer twin = chunk_;
    twin[5] ^= 1;
    return twin;
  }();
  std::set<std::uint64_t> goes_ = {1};
  std::optional<ChunkExtent> extent_;  // instead of that which the index has
  DeltaStage& deltas_ = store_.with_deltas();
};

TEST_F(ReencodeTest, ADeltaIsMadeFromWhatItIsGiven) {
  const auto bytes = store({basis({10})});
  store_.commit();

  ASSERT_TRUE(bytes) << bytes.error().message();
  EXPECT_LT(*bytes, 100u);
  const RegionEntry entry = store_.entry_of(2);
  EXPECT_EQ(entry.payload_length, *bytes);
  EXPECT_THAT(entry.sources, ElementsAre(ChunkId{10}));
  EXPECT_EQ(entry.depth, 1);
  EXPECT_EQ(entry.fingerprint, fingerprint_of(chunk_));
  EXPECT_EQ(store_.groups(), 1);
  store_.forget(1);
  expect_reads_the_same();
}

TEST_F(ReencodeTest, TheFirstBasisThatGivesAShortDeltaIsTaken) {
  ASSERT_TRUE(store({basis({20}), basis({10}), basis({1})}));
  store_.commit();

  EXPECT_THAT(store_.entry_of(2).sources, ElementsAre(ChunkId{10}));
}

TEST_F(ReencodeTest, WithoutAnythingAlikeItIsADeltaNoMore) {
  const auto bytes = store({basis({20})});
  store_.commit();

  EXPECT_EQ(bytes.value(), MovingStore::kBytes);
  EXPECT_FALSE(store_.entry_of(2).is_delta());
  EXPECT_THAT(store_.entry_of(2).sources, IsEmpty());
  store_.forget(1);
  expect_reads_the_same();
}

TEST_F(ReencodeTest, ChunksWithFeaturesInCommonAreTriedWhereTheBasesDoNotHelp) {
  deltas_.features.insert(deltas_.encoder->sketch_of(twin_), ChunkId{10});

  ASSERT_TRUE(store({}));
  store_.commit();

  EXPECT_THAT(store_.entry_of(2).sources, ElementsAre(ChunkId{10}));
}

TEST_F(ReencodeTest, AChunkThatMayNotBeASourceIsNone) {
  deltas_.features.insert(deltas_.encoder->sketch_of(MovingStore::content(1)), ChunkId{1});

  EXPECT_EQ(store({}).value(), MovingStore::kBytes);
}

// Else a circle could come about.
TEST_F(ReencodeTest, NothingThatIsAsDeepIsASource) {
  store_.put_delta(11, twin_, {10});

  EXPECT_EQ(store({basis({11})}).value(), MovingStore::kBytes);
}

TEST_F(ReencodeTest, WhereItWouldTakeTooMuchNothingIsDone) {
  const RegionPlace before = store_.place_of(2);

  EXPECT_EQ(store({basis({20})}, 1000).value(), MovingStore::kBytes);

  EXPECT_EQ(store_.groups(), 0);
  store_.commit();
  EXPECT_EQ(store_.place_of(2), before);
  EXPECT_TRUE(store_.entry_of(2).is_delta());
}

// A crash may leave this copy and an older, deeper one of the source.
TEST_F(ReencodeTest, OfASourceThatIsPendingTheDepthIsNotCountedOn) {
  store_.put_delta(3, edited(chunk_), {2});
  ASSERT_EQ(store_.entry_of(3).depth, 2);
  store_.store_again(10, twin_);

  ASSERT_TRUE(store({basis({10})}, 1 << 20, 3));
  store_.commit();

  EXPECT_THAT(store_.entry_of(3).sources, ElementsAre(ChunkId{10}));
  EXPECT_EQ(store_.entry_of(3).depth, 2) << "as before, though 10 is no delta";
}

// ---------------------------------------------------------------- others beside it

TEST_F(ReencodeTest, WhatSomebodyIsStoringIsLeftToThem) {
  store_.store_again(2, chunk_);

  EXPECT_EQ(code_of(store({basis({10})})), ErrorCode::kBusy);
}

TEST_F(ReencodeTest, WhatMovedMeanwhileIsLeftWhereItIs) {
  extent_ = store_.extent_of(2);
  store_.put_delta(2, chunk_, {1});
  const RegionPlace now = store_.place_of(2);

  EXPECT_EQ(code_of(store({basis({10})})), ErrorCode::kBusy);

  store_.commit();
  EXPECT_EQ(store_.place_of(2), now);
}

// ---------------------------------------------------------------- damage

TEST_F(ReencodeTest, AChunkThatIsNotWhatItsFingerprintSaysStaysAsItIs) {
  store_.put_delta(2, chunk_, {1}, [](RegionEntry& entry) { entry.fingerprint.bytes[0] ^= 1; });
  const RegionPlace before = store_.place_of(2);

  EXPECT_EQ(code_of(store({basis({10})})), ErrorCode::kCorruption);

  EXPECT_EQ(store_.place_of(2), before);
  EXPECT_FALSE(store_.pending().locate(ChunkId{2}));
}

TEST_F(ReencodeTest, AChunkThatCannotBeMadeStaysAsItIs) {
  store_.forget(1);

  EXPECT_EQ(code_of(store({basis({10})})), ErrorCode::kCorruption);
}

TEST_F(ReencodeTest, AnExtentThatLeadsElsewhereIsDamage) {
  extent_ = store_.extent_of(2);
  extent_->place = store_.place_of(10);

  EXPECT_EQ(code_of(store({basis({10})})), ErrorCode::kCorruption);
}

}  // namespace
}  // namespace dedupfs
