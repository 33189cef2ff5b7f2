#include "store/ingest/chunk_id_reserve.h"

#include <gtest/gtest.h>

#include <optional>

#include "index/counters.h"
#include "sample_store.h"
#include "store/chunks/chunk_index.h"
#include "store/format/chunk_ids.h"

namespace dedupfs {
namespace {

class ChunkIdReserveTest : public testing::Test {
 protected:
  void set_counter(std::uint64_t number) {
    Database::Batch batch(store_.database());
    batch.put(Family::kCounters, kNextChunkIdCounter, encode_number(number));
    ASSERT_TRUE(store_.database().write(batch));
  }
  std::optional<std::uint64_t> counter() { return get_number(store_.database(), kNextChunkIdCounter).value(); }
  Result<std::uint64_t> load() { return load_next_chunk_id(store_.database(), store_.containers(), 1000); }

  SampleStore store_;
};

TEST_F(ChunkIdReserveTest, AnEmptyVolumeBeginsWithOne) {
  EXPECT_EQ(load().value(), 1U);
}

TEST_F(ChunkIdReserveTest, TheCounterSaysWhereIdsGoOn) {
  set_counter(77);
  EXPECT_EQ(load().value(), 77U);
}

TEST_F(ChunkIdReserveTest, IdsGoOnBehindChunksThatTheCounterDoesNotKnow) {
  store_.put(90, random_bytes(100, 1));
  set_counter(77);
  EXPECT_EQ(load().value(), 91U);
}

TEST_F(ChunkIdReserveTest, IdsGoOnBehindContainersThatTheIndexDoesNotKnow) {
  store_.put(500, random_bytes(100, 1));
  store_.forget(500);
  EXPECT_GT(load_next_chunk_id(store_.database(), store_.containers(), 1).value(), 500U);
}

TEST_F(ChunkIdReserveTest, ACounterThatCannotBeIsDamage) {
  for (const std::uint64_t wrong : {std::uint64_t{0}, kEndOfChunkIds + 1, UINT64_MAX}) {
    set_counter(wrong);
    EXPECT_EQ(load().error().code(), ErrorCode::kCorruption);
  }
}

TEST_F(ChunkIdReserveTest, IdsAreReservedBeforeTheyAreTaken) {
  ChunkIdReserve reserve(store_.database(), 5);
  ASSERT_TRUE(reserve.ensure());
  const std::uint64_t reserved = counter().value();
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(reserve.ensure());
    ASSERT_LE(reserve.ids().take_block() + ChunkIdAllocator::kBlockIds, counter().value());
  }
  EXPECT_GT(counter().value(), reserved);
}

TEST_F(ChunkIdReserveTest, WhatWasNotUsedIsGivenBack) {
  std::uint64_t next = 0;
  {
    ChunkIdReserve reserve(store_.database(), 5);
    ASSERT_TRUE(reserve.ensure());
    reserve.ids().take_block();
    next = reserve.ids().next();
  }
  EXPECT_EQ(counter(), next);
}

TEST_F(ChunkIdReserveTest, WhoReservedNothingWritesNothing) {
  { const ChunkIdReserve reserve(store_.database(), 5); }
  EXPECT_EQ(counter(), std::nullopt);
}

TEST_F(ChunkIdReserveTest, IdsCanBeUsedUp) {
  ChunkIdReserve reserve(store_.database(), kEndOfChunkIds - 10);
  EXPECT_EQ(reserve.ensure().error().code(), ErrorCode::kNoSpace);
}

}  // namespace
}  // namespace dedupfs
