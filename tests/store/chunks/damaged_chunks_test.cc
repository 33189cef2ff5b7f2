#include "store/chunks/damaged_chunks.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

TEST(DamagedChunks, KnowsWhatWasPutInAndNotTakenOut) {
  DamagedChunks damaged;
  EXPECT_FALSE(damaged.contains(ChunkId{5}));
  damaged.insert(ChunkId{5}, 3);
  damaged.insert(ChunkId{6});
  damaged.erase(ChunkId{7});
  EXPECT_EQ(damaged.size(), 2U);
  EXPECT_TRUE(damaged.contains(ChunkId{5}));
  EXPECT_TRUE(damaged.contains(ChunkId{6}));
  EXPECT_FALSE(damaged.contains(ChunkId{7}));
}

TEST(DamagedChunks, OutlivesBeingWrittenDown) {
  DamagedChunks damaged;
  damaged.insert(ChunkId{1}, 2);
  damaged.insert(ChunkId{~std::uint64_t{0}});
  const std::string encoded = damaged.encode().bytes;
  DamagedChunks loaded;
  ASSERT_TRUE(loaded.load(encoded));
  EXPECT_EQ(loaded.size(), 3U);
  EXPECT_TRUE(loaded.contains(ChunkId{2}));
  EXPECT_TRUE(loaded.contains(ChunkId{~std::uint64_t{0}}));
  EXPECT_EQ(loaded.encode().bytes, encoded);
}

TEST(DamagedChunks, SaysWhetherThereIsSomethingToWriteDown) {
  DamagedChunks damaged;
  EXPECT_FALSE(damaged.changed());
  damaged.insert(ChunkId{1});
  EXPECT_TRUE(damaged.changed());
  damaged.note_stored(damaged.encode().version);
  damaged.insert(ChunkId{1});
  damaged.erase(ChunkId{2});
  EXPECT_FALSE(damaged.changed());
  const std::uint64_t version = damaged.encode().version;
  damaged.erase(ChunkId{1});
  damaged.note_stored(version);  // too late
  EXPECT_TRUE(damaged.changed());
}

TEST(DamagedChunks, WhatACommitHealsStaysUntilTheCommitHasSucceeded) {
  DamagedChunks damaged;
  damaged.insert(ChunkId{1}, 3);
  const std::vector<ChunkId> healed = {ChunkId{2}};

  const DamagedChunks::Encoded encoded = damaged.encode(healed);
  EXPECT_TRUE(damaged.contains(ChunkId{2}));
  EXPECT_EQ(damaged.encode(healed).bytes, encoded.bytes);
  damaged.note_stored(encoded.version, healed);

  EXPECT_EQ(damaged.numbers(), (std::vector<std::uint64_t>{1, 3}));
  EXPECT_FALSE(damaged.changed());
  DamagedChunks loaded;
  ASSERT_TRUE(loaded.load(encoded.bytes));
  EXPECT_EQ(loaded.numbers(), damaged.numbers());
}

TEST(DamagedChunks, WhatIsFoundWhileACommitRunsIsStoredByTheNext) {
  DamagedChunks damaged;
  damaged.insert(ChunkId{1});
  const DamagedChunks::Encoded encoded = damaged.encode({ChunkId{1}});
  damaged.insert(ChunkId{7});

  damaged.note_stored(encoded.version, {ChunkId{1}});

  EXPECT_EQ(damaged.numbers(), (std::vector<std::uint64_t>{7}));
  EXPECT_TRUE(damaged.changed());
}

TEST(DamagedChunks, RefusesBytesThatAreNoList) {
  DamagedChunks damaged;
  for (const std::string_view bad :
       {std::string_view("\x80", 1), std::string_view("\0", 1), std::string_view("\x05\0", 2),
        std::string_view("\x05\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11)})
    EXPECT_FALSE(damaged.load(bad));
  EXPECT_EQ(damaged.size(), 0U);
}

TEST(DamagedChunks, AStretchIsTakenOutAtOnce) {
  DamagedChunks damaged;
  damaged.insert(ChunkId{5}, 10);
  damaged.note_stored(damaged.encode().version);

  damaged.erase(ChunkId{20}, 5);
  EXPECT_FALSE(damaged.changed()) << "none of them was there";
  damaged.erase(ChunkId{7}, 4);

  EXPECT_TRUE(damaged.changed());
  EXPECT_EQ(damaged.numbers(), (std::vector<std::uint64_t>{5, 6, 11, 12, 13, 14}));
  EXPECT_EQ(damaged.size(), 6U);
}

}  // namespace
}  // namespace dedupfs
