#include "store/relocation/relocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moving_store.h"
#include "support/files.h"

namespace dedupfs {
namespace {

using testing::Each;

// Container 1 has the chunks 1 and 2, and 3, which is made from 1.
class EvacuationTest : public testing::Test {
 protected:
  EvacuationTest() {
    for (const std::uint64_t id : {1u, 2u}) store_.put(id, MovingStore::content(id));
    store_.put_delta(3, edited(MovingStore::content(1)), {1});
    EXPECT_EQ(store_.end_container(), 1u);
  }

  Result<void> evacuate(std::uint64_t chunks) { return store_.relocator().evacuate(1, chunks, store_.in_group()); }
  std::vector<std::uint32_t> containers_of(const std::vector<std::uint64_t>& ids) {
    std::vector<std::uint32_t> containers;
    for (const std::uint64_t id : ids) containers.push_back(store_.place_of(id).container);
    return containers;
  }
  ErrorCode code_of(const Result<void>& result) const {
    EXPECT_FALSE(result);
    return result ? ErrorCode{} : result.error().code();
  }

  MovingStore store_;
};

TEST_F(EvacuationTest, AllThatTheIndexHasInAContainerIsElsewhereAfterwards) {
  RegionEntry delta = store_.entry_of(3);

  ASSERT_TRUE(evacuate(3));
  store_.commit();

  EXPECT_THAT(containers_of({1, 2, 3}), Each(2u));
  EXPECT_EQ(store_.groups(), 4) << "each region is one change, and so is the end of the container";
  const RegionEntry moved = store_.entry_of(3);
  EXPECT_EQ(moved.sources, delta.sources) << "a delta stays one";
  EXPECT_EQ(moved.depth, delta.depth);
  store_.lose_container(1);
  EXPECT_EQ(store_.read(2), text_of(MovingStore::content(2)));
  EXPECT_EQ(store_.read(3), text_of(edited(MovingStore::content(1))));
}

TEST_F(EvacuationTest, WhatTheIndexHasElsewhereOrNotAtAllIsNotMoved) {
  store_.put(1, MovingStore::content(1));  // in container 2
  store_.forget(2);
  const RegionPlace elsewhere = store_.place_of(1);

  ASSERT_TRUE(evacuate(1));
  store_.commit();

  EXPECT_EQ(store_.place_of(1), elsewhere);
  EXPECT_EQ(store_.extent_of(2), std::nullopt);
  EXPECT_THAT(containers_of({3}), Each(2u));
}

// Otherwise all that moves would come to lie in memory.
TEST_F(EvacuationTest, WhereNothingCanBeStoredNothingMoves) {
  store_.fill_disk();

  EXPECT_EQ(code_of(evacuate(3)), ErrorCode::kNoSpace);

  EXPECT_TRUE(store_.pending().open_is_empty());
}

TEST_F(EvacuationTest, AContainerOfWhichAChunkIsBeingStoredMustStay) {
  store_.store_again(2, MovingStore::content(2));

  EXPECT_EQ(code_of(evacuate(3)), ErrorCode::kBusy);

  store_.commit();
  EXPECT_THAT(containers_of({1}), Each(2u)) << "what was moved by then is moved";
  EXPECT_EQ(store_.read(2), text_of(MovingStore::content(2)));
}

TEST_F(EvacuationTest, AContainerWithFewerChunksThanTheIndexHadMustStay) {
  EXPECT_EQ(code_of(evacuate(4)), ErrorCode::kBusy);
}

TEST_F(EvacuationTest, WhatCannotBeReadIsDamage) {
  flip_bit(store_.container(1), store_.place_of(2).offset + kRegionHeaderBytes + 1000);

  EXPECT_EQ(code_of(evacuate(3)), ErrorCode::kCorruption);
}

TEST_F(EvacuationTest, ADirectoryThatCannotBeReadIsDamageUnlessNobodyNeedsIt) {
  flip_bit(store_.container(1), store_.place_of(2).offset + kRegionHeaderBytes);

  EXPECT_EQ(code_of(evacuate(3)), ErrorCode::kCorruption);
  store_.commit();
  EXPECT_THAT(containers_of({1, 3}), Each(2u)) << "the rest is moved";
}

TEST_F(EvacuationTest, DamageOfWhatNobodyRefersToDoesNotMatter) {
  const RegionPlace second = store_.place_of(2);
  store_.forget(2);
  flip_bit(store_.container(1), second.offset + kRegionHeaderBytes);

  EXPECT_TRUE(evacuate(2));
  store_.commit();
  EXPECT_THAT(containers_of({1, 3}), Each(2u));
}

TEST_F(EvacuationTest, BehindADamagedHeaderNothingIsFound) {
  flip_bit(store_.container(1), store_.place_of(2).offset + 20);

  EXPECT_EQ(code_of(evacuate(3)), ErrorCode::kCorruption);

  store_.commit();
  EXPECT_THAT(containers_of({3}), Each(1u));
}

TEST_F(EvacuationTest, WhoCannotHoldAGroupEndsIt) {
  const InGroup closed = [](const auto&) -> Result<void> { return Error{ErrorCode::kInterrupted, "closing"}; };

  EXPECT_EQ(code_of(store_.relocator().evacuate(1, 3, closed)), ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace dedupfs
