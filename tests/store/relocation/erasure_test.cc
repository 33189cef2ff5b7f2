#include "store/relocation/erasure.h"

#include <gtest/gtest.h>

#include "sample_ingest.h"
#include "store/ingest/chunk_writer.h"

namespace dedupfs {
namespace {

class ErasureTest : public testing::Test {
 protected:
  ChunkId put(const ByteBuffer& chunk) {
    ChunkWriter writer(*store_.ingest);
    const auto ids = SampleIngest::put(writer, {chunk});
    EXPECT_TRUE(ids);
    return ids ? ids->front() : ChunkId{};
  }

  SampleIngest store_;
  Erasure erasure_{store_.liveness, store_.pending, *store_.ingest};
  const ByteBuffer chunk_ = random_bytes(1000, 1);
};

TEST_F(ErasureTest, AChunkIsPendingUntilItIsCommitted) {
  const ChunkId id = put(chunk_);
  EXPECT_TRUE(erasure_.is_pending(id));
  EXPECT_LT(number_of(id), erasure_.end_of_ids());
  store_.commit();
  EXPECT_FALSE(erasure_.is_pending(id));
}

TEST_F(ErasureTest, WhatWasErasedIsGoneAfterTheCommit) {
  const ChunkId id = put(chunk_);
  store_.commit();
  erasure_.erase({.first = id, .fingerprints = {fingerprint_of(chunk_)}});
  store_.commit();
  EXPECT_EQ(find_extent(*store_.database, id).value(), std::nullopt);
  EXPECT_NE(put(chunk_), id);
}

TEST_F(ErasureTest, AfterAReclaimNoCacheLeadsToTheDead) {
  const ChunkId id = put(chunk_);
  store_.commit();
  EXPECT_EQ(put(chunk_), id);  // now it is in the cache
  store_.liveness.start_marking(erasure_.end_of_ids());
  ASSERT_TRUE(store_.liveness.start_erasing());
  erasure_.erase({.first = id, .fingerprints = {fingerprint_of(chunk_)}});
  store_.commit();
  erasure_.finish();
  EXPECT_FALSE(store_.liveness.is_erasing());
  EXPECT_NE(put(chunk_), id);
}

}  // namespace
}  // namespace dedupfs
