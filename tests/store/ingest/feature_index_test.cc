#include "store/ingest/feature_index.h"

#include <gtest/gtest.h>

#include "sample_store.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kPlenty = 1 << 30;

// Scattered over all 64 bits, as super-features are.
Sketch sketch(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  constexpr std::uint64_t kScatter = 0x9E37'79B9'7F4A'7C15;
  return {{a * kScatter, b * kScatter, c * kScatter}};
}

class FeatureIndexTest : public testing::Test {
 protected:
  FeatureIndexTest() {
    EXPECT_TRUE(Database::create(folder_at(path())));
    open();
  }

  Path path() const { return directory_.path() / "index"; }
  void open(std::uint64_t disk_bytes = kPlenty) {
    index_.reset();
    database_.reset();
    database_ = std::move(*Database::open(folder_at(path()), {.memory_bytes = 16 << 20}));
    index_ = std::make_unique<FeatureIndex>(*database_, disk_bytes);
  }
  void write_frozen() {
    Database::Batch batch(*database_);
    ASSERT_TRUE(index_->append_to(batch));
    ASSERT_TRUE(database_->write(batch));
  }
  void commit() {
    index_->freeze();
    write_frozen();
    index_->committed();
  }
  std::vector<ChunkId> find(const Sketch& sketch) const {
    const auto found = index_->find(sketch);
    EXPECT_TRUE(found);
    return found ? *found : std::vector<ChunkId>();
  }
  std::size_t entries() const {
    std::size_t count = 0;
    EXPECT_TRUE(
        database_->walk(*database_->snapshot(), Family::kFeatureIndex, [&](auto, auto) { return ++count != 0; }));
    return count;
  }

  std::unique_ptr<FeatureIndex> index_;

 private:
  TempDir directory_;
  std::unique_ptr<Database> database_;
};

TEST_F(FeatureIndexTest, FindsNothingWhereNothingIs) {
  EXPECT_TRUE(find(sketch(1, 2, 3)).empty());
}

TEST_F(FeatureIndexTest, OneSharedSuperFeatureIsEnough) {
  index_->insert(sketch(1, 2, 3), ChunkId{7});

  EXPECT_EQ(find(sketch(1, 2, 3)), ids_of({7}));
  EXPECT_EQ(find(sketch(1, 8, 9)), ids_of({7}));
  EXPECT_EQ(find(sketch(8, 9, 3)), ids_of({7}));
  EXPECT_TRUE(find(sketch(4, 5, 6)).empty());
}

TEST_F(FeatureIndexTest, ThoseThatShareMostComeFirstThenTheNewest) {
  index_->insert(sketch(1, 2, 30), ChunkId{7});
  index_->insert(sketch(10, 20, 3), ChunkId{9});
  EXPECT_EQ(find(sketch(1, 2, 3)), ids_of({7, 9}));

  index_->insert(sketch(11, 2, 31), ChunkId{8});
  EXPECT_EQ(find(sketch(1, 2, 3)), ids_of({9, 8, 7}));
}

TEST_F(FeatureIndexTest, OfTwoChunksWithOneSuperFeatureTheNewerIsFound) {
  index_->insert(sketch(1, 2, 3), ChunkId{7});
  commit();
  index_->insert(sketch(1, 2, 3), ChunkId{8});

  EXPECT_EQ(find(sketch(1, 2, 3)), ids_of({8}));
  commit();
  EXPECT_EQ(find(sketch(1, 2, 3)), ids_of({8}));
}

TEST_F(FeatureIndexTest, GroupThatIsBeingCommittedIsFound) {
  index_->insert(sketch(1, 2, 3), ChunkId{7});

  index_->freeze();
  index_->insert(sketch(4, 5, 6), ChunkId{8});

  EXPECT_EQ(find(sketch(1, 2, 3)), ids_of({7}));
  EXPECT_EQ(find(sketch(4, 5, 6)), ids_of({8}));
  write_frozen();
  index_->committed();
  EXPECT_EQ(find(sketch(1, 2, 3)), ids_of({7}));
  EXPECT_EQ(find(sketch(4, 5, 6)), ids_of({8}));
}

TEST_F(FeatureIndexTest, SurvivesCommitAndReopening) {
  index_->insert(sketch(1, 2, 3), ChunkId{7});
  commit();
  index_->insert(sketch(4, 5, 6), ChunkId{8});

  open();

  EXPECT_EQ(find(sketch(1, 2, 3)), ids_of({7}));
  EXPECT_TRUE(find(sketch(4, 5, 6)).empty()) << "was not committed";
}

TEST_F(FeatureIndexTest, OpenGroupHasAMeasuredSize) {
  EXPECT_EQ(index_->open_bytes(), 0u);
  for (std::uint64_t id = 1; id <= 1000; ++id) index_->insert(sketch(3 * id, 3 * id + 1, 3 * id + 2), ChunkId{id});

  EXPECT_GE(index_->open_bytes(), 3000 * 16u);
  index_->freeze();
  EXPECT_EQ(index_->open_bytes(), 0u);
}

// The limit is that of the disk, and held when RocksDB merges tables: some time after enough was written.
TEST_F(FeatureIndexTest, ForgetsTheOldestBeyondItsLimit) {
  constexpr std::uint64_t kMaxChunks = 500'000;
  constexpr std::uint64_t kCommitted = 10'000;
  open(1 << 20);
  std::uint64_t id = 0;
  while (find(sketch(3, 0, 0)).size() + find(sketch(30'000, 0, 0)).size() != 0 || id == 0) {
    ASSERT_LT(id, kMaxChunks) << "nothing is forgotten";
    for (const std::uint64_t end = id + kCommitted; id < end; ++id)
      index_->insert(sketch(3 * (id + 1), 3 * (id + 1) + 1, 3 * (id + 1) + 2), ChunkId{id + 1});
    commit();
  }

  EXPECT_EQ(find(sketch(3 * id, 0, 0)), ids_of({id}));
  EXPECT_GT(entries(), 0u);
}

TEST_F(FeatureIndexTest, WhatLeadsToTheDeadIsForgotten) {
  index_->insert(sketch(1, 2, 3), ChunkId{7});
  index_->insert(sketch(4, 5, 6), ChunkId{8});
  commit();
  index_->insert(sketch(7, 8, 9), ChunkId{9});

  ASSERT_TRUE(index_->forget([](ChunkId id) { return id != ChunkId{8}; }));

  EXPECT_TRUE(find(sketch(1, 2, 3)).empty());
  EXPECT_EQ(find(sketch(4, 5, 6)), ids_of({8}));
  EXPECT_EQ(find(sketch(7, 8, 9)), ids_of({9})) << "it is not committed";
  EXPECT_EQ(entries(), 3u);
}

// More than one batch of changes.
TEST_F(FeatureIndexTest, ForgetsManyInOneGo) {
  constexpr std::uint64_t kChunks = 60'000;
  for (std::uint64_t id = 1; id <= kChunks; ++id) index_->insert(sketch(3 * id, 3 * id + 1, 3 * id + 2), ChunkId{id});
  commit();
  const std::size_t before = entries();

  ASSERT_TRUE(index_->forget([](ChunkId id) { return number_of(id) % 3 != 0; }));

  EXPECT_NEAR(static_cast<double>(entries()), static_cast<double>(before) / 3, static_cast<double>(before) / 100);
  EXPECT_TRUE(find(sketch(3, 4, 5)).empty());
  EXPECT_EQ(find(sketch(9, 10, 11)), ids_of({3}));
}

}  // namespace
}  // namespace dedupfs
