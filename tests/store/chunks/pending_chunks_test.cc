// What is stored, moved and erased between two commits, and who packs it.
#include "store/chunks/pending_chunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_region.h"
#include "store/chunks/fingerprint.h"
#include "store/ingest/region_packer.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kPendingRawBytes = 1000;

class PendingChunksTest : public testing::Test {
 protected:
  PendingChunksTest() {
    EXPECT_TRUE(Database::create(folder_at(directory_.path() / "index")));
    database_ = std::move(*Database::open(folder_at(directory_.path() / "index"), {.memory_bytes = 8 << 20}));
  }

  static ByteBuffer chunk(std::uint64_t seed) { return random_bytes(kPendingRawBytes, seed); }
  ChunkId add(std::uint64_t seed) { return packer_.add(fingerprint_of(chunk(seed)), chunk(seed)).id; }
  // As it stands in the directory of another region.
  static RegionEntry stored(ChunkId id, std::uint64_t seed) {
    RegionEntry entry;
    entry.id = id;
    entry.fingerprint = fingerprint_of(chunk(seed));
    entry.raw_length = entry.payload_length = kPendingRawBytes;
    entry.payload_offset = 12'345;
    return entry;
  }

  // Every region gets a container of its own.
  void commit() {
    packer_.close();
    pending_.freeze();
    for (const auto& region : pending_.frozen_regions())
      pending_.mark_written(*region, {++containers_, 64}, region->used_bytes + 100);
    Database::Batch batch(*database_);
    ASSERT_TRUE(pending_.append_frozen_to(batch, *database_));
    ASSERT_TRUE(database_->write(batch));
    pending_.drop_frozen();
  }

  std::vector<ChunkExtent> extents() {
    std::vector<ChunkExtent> extents;
    const auto stored = database_->list(Family::kChunks, {}, {}, 100).value();
    for (const auto& [key, value] : stored) extents.push_back(decode_extent(key, value).value());
    return extents;
  }
  std::optional<ChunkId> leads_to(std::uint64_t seed) {
    const auto value = database_->get(Family::kFingerprints, text_of(fingerprint_of(chunk(seed)).bytes)).value();
    return value ? std::optional(decode_chunk_id(*value).value()) : std::nullopt;
  }
  std::string read(ChunkId id) {
    const auto location = pending_.locate(id);
    return location && location->region ? std::string(text_of(location->region->payload_of(location->entry))) : "";
  }

  TempDir directory_;
  std::unique_ptr<Database> database_;
  PendingChunks pending_;
  ChunkIdAllocator ids_{1};
  std::uint32_t containers_ = 0;
  RegionPacker packer_{pending_, ids_, 16 << 10, [](auto) {}};
};

TEST_F(PendingChunksTest, ErasedChunksLeaveTheIndexWithTheirFingerprints) {
  const std::vector ids{add(0), add(1), add(2)};
  commit();

  pending_.erase({.first = ids[1], .fingerprints = {fingerprint_of(chunk(1))}});
  EXPECT_FALSE(pending_.open_is_empty());
  commit();

  EXPECT_EQ(leads_to(0), ids[0]);
  EXPECT_EQ(leads_to(1), std::nullopt);
  ASSERT_THAT(extents(), SizeIs(2));
  EXPECT_TRUE(extents()[0].contains(ids[0]));
  EXPECT_TRUE(extents()[1].contains(ids[2]));
  EXPECT_TRUE(pending_.open_is_empty());
}

TEST_F(PendingChunksTest, AFingerprintThatLeadsElsewhereByNowStays) {
  const ChunkId old = add(0);
  commit();
  const ChunkId anew = add(0);
  ASSERT_NE(old, anew);
  commit();

  pending_.erase({.first = old, .fingerprints = {fingerprint_of(chunk(0))}});
  commit();

  EXPECT_EQ(leads_to(0), anew);
  EXPECT_THAT(extents(), SizeIs(1));
}

TEST_F(PendingChunksTest, ContentThatComesInTheGroupThatErasesItKeepsItsFingerprint) {
  const ChunkId old = add(0);
  commit();

  pending_.erase({.first = old, .fingerprints = {fingerprint_of(chunk(0))}});
  const ChunkId anew = add(0);
  commit();

  EXPECT_EQ(leads_to(0), anew);
  ASSERT_THAT(extents(), SizeIs(1));
  EXPECT_TRUE(extents()[0].contains(anew));
}

TEST_F(PendingChunksTest, AMovedChunkIsReadWhereItIsAndFoundAsBefore) {
  const std::vector ids{add(0), add(1)};
  commit();

  EXPECT_TRUE(packer_.add_moved(stored(ids[1], 1), chunk(1)));
  EXPECT_EQ(read(ids[1]), text_of(chunk(1)));
  EXPECT_EQ(pending_.find(fingerprint_of(chunk(1))), std::nullopt) << "its content is the index's to find";
  commit();

  EXPECT_EQ(leads_to(1), ids[1]);
  ASSERT_THAT(extents(), SizeIs(2));
  EXPECT_EQ(extents()[0].place.container, 1u);
  EXPECT_EQ(extents()[1].place.container, 2u);
  EXPECT_THAT(pending_.frozen_renewed(), IsEmpty());
}

TEST_F(PendingChunksTest, AMovedDeltaIsTheSameDelta) {
  const ChunkId base = add(0);
  const EncodedDelta delta{.bytes = random_bytes(50, 9), .sources = {base}, .depth = 1, .checksum = 77, .base = base};
  const ChunkId id = packer_.add(fingerprint_of(chunk(1)), chunk(1), delta).id;
  commit();
  RegionEntry entry = stored(id, 1);
  entry.payload_length = 50;
  entry.sources = {base};
  entry.depth = 1;
  entry.checksum = 77;

  EXPECT_TRUE(packer_.add_moved(entry, delta.bytes));

  const RegionEntry moved = pending_.locate(id)->entry;
  EXPECT_EQ(moved.payload_offset, 0u);
  entry.payload_offset = 0;
  EXPECT_EQ(moved, entry);
  commit();
  ASSERT_THAT(extents(), SizeIs(2));
  EXPECT_EQ(extents()[1].chunks[0],
            (ChunkExtent::Chunk{.raw_length = kPendingRawBytes, .delta_length = 50, .sources = {base}}));
}

TEST_F(PendingChunksTest, NoChunkMovesTwiceBeforeTheFirstMoveIsCommitted) {
  const ChunkId id = add(0);
  commit();

  EXPECT_TRUE(packer_.add_moved(stored(id, 0), chunk(0)));
  EXPECT_FALSE(packer_.add_moved(stored(id, 0), chunk(0)));
  packer_.close();
  pending_.freeze();
  EXPECT_FALSE(packer_.add_moved(stored(id, 0), chunk(0)));

  EXPECT_THAT(pending_.frozen_regions(), SizeIs(1));
  EXPECT_THAT(pending_.frozen_regions()[0]->region->entries, SizeIs(1));
}

TEST_F(PendingChunksTest, ChunksThatWereStoredAgainAreToldFromThoseThatMoved) {
  const std::vector ids{add(0), add(1)};
  commit();

  EXPECT_TRUE(packer_.add_moved(stored(ids[0], 0), chunk(0)));
  EXPECT_TRUE(packer_.add_again(ids[1], fingerprint_of(chunk(1)), chunk(1)).is_new);
  packer_.close();
  pending_.freeze();

  EXPECT_THAT(pending_.frozen_renewed(), ElementsAre(ids[1]));
}

// The sources of a delta may be lost where its own bytes are not, so that it is moved and stored again at once.
TEST_F(PendingChunksTest, WhatIsStoredAgainCountsMoreThanWhatIsMovedWhicheverIsWrittenLast) {
  const ChunkId id = add(0);
  commit();
  RegionPacker other(pending_, ids_, 16 << 10, [](auto) {});

  EXPECT_TRUE(packer_.add_moved(stored(id, 0), chunk(99)));
  EXPECT_TRUE(other.add_again(id, fingerprint_of(chunk(0)), chunk(0)).is_new);
  EXPECT_EQ(read(id), text_of(chunk(0)));
  other.close();
  commit();

  ASSERT_THAT(extents(), SizeIs(1));
  EXPECT_EQ(extents()[0].place.container, 2u) << "the region with the new bytes was written first, and counts";
}

TEST_F(PendingChunksTest, AnAbandonedContainerBelongsToTheGroup) {
  pending_.abandon_container(7);
  EXPECT_FALSE(pending_.open_is_empty());
  EXPECT_THAT(pending_.frozen_abandoned(), IsEmpty());

  pending_.freeze();
  pending_.abandon_container(8);
  EXPECT_THAT(pending_.frozen_abandoned(), ElementsAre(7));

  pending_.drop_frozen();
  pending_.freeze();
  EXPECT_THAT(pending_.frozen_abandoned(), ElementsAre(8));
}

}  // namespace
}  // namespace dedupfs
