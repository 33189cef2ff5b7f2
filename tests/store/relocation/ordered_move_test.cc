#include "store/relocation/relocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moving_store.h"
#include "support/files.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class OrderedMoveTest : public testing::Test {
 protected:
  void put(const std::vector<std::uint64_t>& ids) {
    for (const std::uint64_t id : ids) store_.put(id, MovingStore::content(id));
  }
  Result<MovedChunks> move(const std::vector<std::uint64_t>& order,
                           std::uint64_t max_decoded = Relocator::kAnyDecoded) {
    moved_.clear();
    DEDUPFS_TRY(store_.relocator().move_in_order(
        ids_of(order), [this](std::uint64_t bytes) { return between(bytes); }, store_.in_group(), max_decoded, moved_));
    return moved_;
  }
  Result<void> between(std::uint64_t bytes) {
    betweens_.push_back(bytes);
    return is_over_ ? Result<void>(Error{ErrorCode::kInterrupted, "over"}) : Result<void>();
  }

  MovingStore store_;
  MovedChunks moved_;
  std::vector<std::uint64_t> betweens_;
  bool is_over_ = false;
};

TEST_F(OrderedMoveTest, ChunksLieInTheOrderThatIsGivenAndAreCountedByContainer) {
  put({1, 2, 3});
  store_.end_container();
  put({4, 5});
  store_.end_container();

  const auto moved = move({5, 2, 4, 1});
  store_.commit();

  EXPECT_THAT(moved.value(), ElementsAre(Pair(1, 2), Pair(2, 2)));
  EXPECT_THAT(store_.ids_in(store_.place_of(5)), ElementsAre(5, 2, 4, 1));
  EXPECT_EQ(store_.place_of(3).container, 1u) << "it is not in the order";
  for (std::uint64_t id = 1; id < 6; ++id) EXPECT_EQ(store_.read(id), text_of(MovingStore::content(id))) << id;
}

TEST_F(OrderedMoveTest, AnEmptyOrderMovesNothing) {
  EXPECT_THAT(move({}).value(), IsEmpty());
  EXPECT_THAT(betweens_, IsEmpty());
}

TEST_F(OrderedMoveTest, WhatIsGoneIsNotMissedAndWhatIsGivenTwiceMovesOnce) {
  put({1, 2});
  store_.end_container();

  const auto moved = move({2, 99, 2, 1, 2});
  store_.commit();

  EXPECT_THAT(moved.value(), ElementsAre(Pair(1, 2)));
  EXPECT_THAT(store_.ids_in(store_.place_of(1)), ElementsAre(2, 1));
}

TEST_F(OrderedMoveTest, WhatCannotBeReadStaysAndTheRestMoves) {
  put({1, 2, 3});
  store_.end_container();
  const RegionPlace second = store_.place_of(2);
  flip_bit(store_.container(1), second.offset + kRegionHeaderBytes + 1000);

  const auto moved = move({3, 2, 1});
  store_.commit();

  EXPECT_THAT(moved.value(), ElementsAre(Pair(1, 2)));
  EXPECT_EQ(store_.place_of(2), second);
  EXPECT_THAT(store_.ids_in(store_.place_of(1)), ElementsAre(3, 1));
}

TEST_F(OrderedMoveTest, WhereNothingCanBeStoredNothingMoves) {
  put({1, 2});
  store_.end_container();
  store_.fill_disk();

  const auto moved = move({2, 1});

  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code(), ErrorCode::kNoSpace);
  EXPECT_TRUE(store_.pending().open_is_empty());
}

TEST_F(OrderedMoveTest, ADeltaMovesAsItIs) {
  put({1});
  store_.put_delta(2, edited(MovingStore::content(1)), {1});
  store_.end_container();

  ASSERT_TRUE(move({2, 1}));
  store_.commit();

  EXPECT_THAT(store_.entry_of(2).sources, ElementsAre(ChunkId{1}));
  store_.lose_container(1);
  EXPECT_EQ(store_.read(2), text_of(edited(MovingStore::content(1))));
}

// Between others, each kind would compress worse.
TEST_F(OrderedMoveTest, DeltasLieBeforeTheOthersNextToThem) {
  put({1, 3, 5});
  for (std::uint64_t id = 2; id <= 6; id += 2) store_.put_delta(id, edited(MovingStore::content(id - 1)), {id - 1});
  store_.end_container();

  ASSERT_TRUE(move({6, 5, 4, 3, 2, 1}));
  store_.commit();

  EXPECT_THAT(store_.ids_in(store_.place_of(1)), ElementsAre(6, 4, 2, 5, 3, 1));
  for (std::uint64_t id = 2; id <= 6; id += 2)
    EXPECT_EQ(store_.read(id), text_of(edited(MovingStore::content(id - 1)))) << id;
}

// So many bytes that they take two batches.
class LargeOrderedMoveTest : public OrderedMoveTest {
 protected:
  LargeOrderedMoveTest() {
    for (std::uint64_t id = 1; id <= 9; ++id) {
      store_.put(id, ByteBuffer(kLargeBytes, static_cast<std::uint8_t>(id)));
      order_.push_back(id);
    }
    store_.end_container();
  }

  static constexpr std::size_t kLargeBytes = 4 << 20;
  std::vector<std::uint64_t> order_;
};

TEST_F(LargeOrderedMoveTest, BetweenBatchesItIsToldHowMuchMoved) {
  const auto moved = move(order_);

  EXPECT_THAT(moved.value(), ElementsAre(Pair(1, 9)));
  EXPECT_THAT(betweens_, ElementsAre(8 * kLargeBytes));
}

// A reader would jump from one to the other.
TEST_F(LargeOrderedMoveTest, DeltasThatAreFarAwayStayBehind) {
  put({19});
  store_.put_delta(20, edited(MovingStore::content(19)), {19});
  store_.end_container();

  ASSERT_TRUE(move({1, 2, 20}));
  store_.commit();

  EXPECT_LT(store_.place_of(1), store_.place_of(20));
  EXPECT_LT(store_.place_of(2), store_.place_of(20));
}

TEST_F(LargeOrderedMoveTest, EndsIfItDecodesMoreThanItMay) {
  std::vector<std::uint64_t> order(order_.begin(), order_.end() - 1);
  order.insert(order.end(), order_.begin(), order_.end());  // each is read twice, and moves once

  EXPECT_THAT(move(order, 1).value(), ElementsAre(Pair(1, 8)));
}

TEST_F(LargeOrderedMoveTest, WithoutALimitItMovesAllHoweverMuchItDecodes) {
  std::vector<std::uint64_t> order(order_.begin(), order_.end() - 1);
  order.insert(order.end(), order_.begin(), order_.end());

  EXPECT_THAT(move(order).value(), ElementsAre(Pair(1, 9)));
}

TEST_F(LargeOrderedMoveTest, EndsBetweenBatchesWhereItIsToldTo) {
  is_over_ = true;

  const auto moved = move(order_);

  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code(), ErrorCode::kInterrupted);
  EXPECT_THAT(moved_, ElementsAre(Pair(1, 8)));
  EXPECT_TRUE(store_.pending().locate(ChunkId{8})) << "what was moved by then is moved";
  EXPECT_FALSE(store_.pending().locate(ChunkId{9}));
}

}  // namespace
}  // namespace dedupfs
