#include "store/ingest/duplicate_finder.h"

#include <gtest/gtest.h>

#include "sample_store.h"

namespace dedupfs {
namespace {

class DuplicateFinderTest : public testing::Test {
 protected:
  DuplicateFinderTest() {
    for (const std::uint64_t id : {1U, 2U, 3U}) store_.put(id, chunk(id));
  }

  static ByteBuffer chunk(std::uint64_t id) { return random_bytes(1000, id); }

  // The index says that the chunk `id` has the content of `content`.
  void index(const ByteBuffer& content, std::uint64_t id) {
    Database::Batch batch(store_.database());
    batch.put(Family::kFingerprints, text_of(fingerprint_of(content).bytes), encode_chunk_id(ChunkId{id}));
    ASSERT_TRUE(store_.database().write(batch));
  }
  void unindex(const ByteBuffer& content) {
    Database::Batch batch(store_.database());
    batch.erase(Family::kFingerprints, text_of(fingerprint_of(content).bytes));
    ASSERT_TRUE(store_.database().write(batch));
  }

  std::optional<DuplicateFinder::Duplicate> find(const ByteBuffer& content) {
    Liveness::Lookup lookup(liveness_);
    const auto found = finder_.find(fingerprint_of(content), lookup);
    EXPECT_TRUE(found);
    return found ? *found : std::nullopt;
  }
  bool finds(const ByteBuffer& content, std::uint64_t id) {
    const auto found = find(content);
    return found && found->id == ChunkId{id} && !found->is_lost;
  }

  SampleStore store_;
  ChunkReader reader_ = store_.make_reader();
  Liveness liveness_;
  DuplicateFinder finder_{store_.database(), store_.containers(), store_.pending(), reader_};
};

TEST_F(DuplicateFinderTest, ContentThatIsNotThereIsNotFound) {
  EXPECT_FALSE(find(chunk(9)));
}

TEST_F(DuplicateFinderTest, ContentIsFoundInTheIndex) {
  index(chunk(2), 2);
  EXPECT_TRUE(finds(chunk(2), 2));
}

TEST_F(DuplicateFinderTest, AHitBringsTheChunksBehindIt) {
  index(chunk(1), 1);
  EXPECT_TRUE(finds(chunk(1), 1));
  EXPECT_TRUE(finds(chunk(3), 3));  // whose fingerprint the index does not even have
  finder_.forget_all();
  EXPECT_FALSE(find(chunk(3)));
}

TEST_F(DuplicateFinderTest, AnIndexThatLeadsToOtherContentIsNotBelieved) {
  index(chunk(9), 2);
  EXPECT_FALSE(find(chunk(9)));
}

TEST_F(DuplicateFinderTest, AnIndexThatLeadsNowhereIsNotBelieved) {
  index(chunk(9), 77);
  EXPECT_FALSE(find(chunk(9)));
}

TEST_F(DuplicateFinderTest, AnEntryThatIsNoChunkIsNotBelieved) {
  Database::Batch batch(store_.database());
  batch.put(Family::kFingerprints, text_of(fingerprint_of(chunk(9)).bytes), "x");
  ASSERT_TRUE(store_.database().write(batch));

  EXPECT_FALSE(find(chunk(9)));
}

TEST_F(DuplicateFinderTest, ALostChunkIsToBeStoredAgain) {
  index(chunk(2), 2);
  store_.lose_container(store_.end_container());
  const auto found = find(chunk(2));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, ChunkId{2});
  EXPECT_TRUE(found->is_lost);
}

TEST_F(DuplicateFinderTest, AChunkThatCanBeReadIsNoLongerTakenForDamaged) {
  index(chunk(2), 2);
  reader_.damaged().insert(ChunkId{2});
  EXPECT_TRUE(finds(chunk(2), 2));
  EXPECT_FALSE(reader_.damaged().contains(ChunkId{2}));
}

TEST_F(DuplicateFinderTest, DeadChunksAreNotFoundAgain) {
  index(chunk(2), 2);
  EXPECT_TRUE(finds(chunk(2), 2));
  liveness_.start_marking(100);
  ASSERT_TRUE(liveness_.start_erasing());
  EXPECT_FALSE(find(chunk(2)));
}

TEST_F(DuplicateFinderTest, AHitDuringAMarkIsAClaim) {
  index(chunk(2), 2);
  liveness_.start_marking(100);
  EXPECT_TRUE(finds(chunk(2), 2));
  EXPECT_EQ(liveness_.take_claimed(), ids_of({2}));
}

}  // namespace
}  // namespace dedupfs
