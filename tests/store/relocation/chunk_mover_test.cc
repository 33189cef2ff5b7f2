#include "store/relocation/chunk_mover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moving_store.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ChunkMoverTest : public testing::Test {
 protected:
  ChunkMover::Copy copy_of(std::uint64_t id) {
    const RegionPlace place = store_.place_of(id);
    const auto region = store_.containers().read({place}).value();
    const RegionEntry& entry = *region->find(ChunkId{id});
    const ByteSpan payload = region->payload_of(entry);
    return {place, entry, {payload.begin(), payload.end()}};
  }
  void put(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t id = from; id < to; ++id) store_.put(id, MovingStore::content(id));
  }

  MovingStore store_;
  InGroup in_group_ = store_.in_group();
  std::vector<std::uint64_t> moved_;
  ChunkMover mover_{store_.parts(), store_.packer(), in_group_,
                    [this](const auto& copy) { moved_.push_back(number_of(copy.entry.id)); }};
};

TEST_F(ChunkMoverTest, WhatWasAddedLiesTogetherInThatOrderAfterwards) {
  put(1, 6);
  for (const std::uint64_t id : {5u, 1u, 3u}) ASSERT_TRUE(mover_.add(copy_of(id)));
  EXPECT_THAT(moved_, IsEmpty()) << "not before it is enough, or the end";

  ASSERT_TRUE(mover_.finish());
  store_.commit();

  EXPECT_THAT(moved_, ElementsAre(5, 1, 3));
  EXPECT_THAT(store_.ids_in(store_.place_of(1)), ElementsAre(5, 1, 3));
  for (std::uint64_t id = 1; id < 6; ++id) EXPECT_EQ(store_.read(id), text_of(MovingStore::content(id))) << id;
  EXPECT_TRUE(mover_.finish()) << "with nothing to do";
  EXPECT_EQ(moved_.size(), 3u);
}

TEST_F(ChunkMoverTest, ADeltaMovesAsItIs) {
  put(1, 2);
  store_.put_delta(2, edited(MovingStore::content(1)), {1});
  RegionEntry before = store_.entry_of(2);
  ASSERT_TRUE(mover_.add(copy_of(2)));
  ASSERT_TRUE(mover_.finish());
  const RegionPlace old = store_.place_of(2);
  store_.commit();

  EXPECT_NE(store_.place_of(2), old);
  before.payload_offset = 0;
  EXPECT_EQ(store_.entry_of(2), before);
  EXPECT_EQ(store_.read(2), text_of(edited(MovingStore::content(1))));
}

TEST_F(ChunkMoverTest, NoGroupWaitsForLong) {
  put(1, 131);
  for (std::uint64_t id = 1; id < 131; ++id) ASSERT_TRUE(mover_.add(copy_of(id)));

  ASSERT_TRUE(mover_.finish());

  EXPECT_EQ(moved_.size(), 130u);
  EXPECT_EQ(store_.groups(), 3) << "of 64 chunks";
}

TEST_F(ChunkMoverTest, NoMoreThanSomeMegabytesAreHeld) {
  constexpr std::size_t kLargeBytes = 4 << 20;
  for (std::uint64_t id = 1; id < 6; ++id) store_.put(id, ByteBuffer(kLargeBytes, static_cast<std::uint8_t>(id)));
  for (std::uint64_t id = 1; id < 4; ++id) ASSERT_TRUE(mover_.add(copy_of(id)));
  EXPECT_THAT(moved_, IsEmpty());

  for (std::uint64_t id = 4; id < 6; ++id) ASSERT_TRUE(mover_.add(copy_of(id)));

  EXPECT_THAT(moved_, ElementsAre(1, 2, 3, 4));
}

TEST_F(ChunkMoverTest, WhatIsBeingStoredMovedMeanwhileOrWasErasedStays) {
  put(1, 5);
  for (std::uint64_t id = 1; id < 5; ++id) ASSERT_TRUE(mover_.add(copy_of(id)));
  store_.put(2, MovingStore::content(2));  // its place is another now
  store_.forget(3);
  store_.store_again(4, MovingStore::content(4));
  const RegionPlace second = store_.place_of(2);

  ASSERT_TRUE(mover_.finish());
  store_.commit();

  EXPECT_THAT(moved_, ElementsAre(1));
  EXPECT_EQ(store_.place_of(2), second);
  EXPECT_EQ(store_.extent_of(3), std::nullopt);
  EXPECT_EQ(store_.read(4), text_of(MovingStore::content(4)));
}

TEST_F(ChunkMoverTest, WhoCannotHoldAGroupEndsTheMove) {
  put(1, 2);
  const InGroup closed = [](const auto&) -> Result<void> { return Error{ErrorCode::kInterrupted, "closing"}; };
  ChunkMover mover(store_.parts(), store_.packer(), closed, [](const auto&) { FAIL(); });
  ASSERT_TRUE(mover.add(copy_of(1)));

  const auto finished = mover.finish();

  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code(), ErrorCode::kInterrupted);
  EXPECT_FALSE(store_.pending().locate(ChunkId{1}));
}

}  // namespace
}  // namespace dedupfs
