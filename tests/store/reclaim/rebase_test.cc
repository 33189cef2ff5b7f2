// Reclaims that store deltas anew, so that chunks can go which only they need.
#include "store/reclaim/rebase.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reclaimed_volume.h"
#include "store/check/index_rebuild.h"
#include "support/folder_at.h"

namespace dedupfs {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

class RebaseTest : public testing::Test {
 protected:
  explicit RebaseTest(const std::string& delta = "odess+:depth=4,neighbours=0") : volume_(delta) {
    volume_.settings.bases_left = 0;
  }

  // Each in a container of its own.
  ChunkId keep(const ByteBuffer& content) {
    const ChunkId id = volume_.keep(content);
    volume_.begin_container();
    return id;
  }
  // Each made from the one before.
  std::vector<ChunkId> keep_versions(std::size_t count) {
    std::vector<ChunkId> ids;
    ByteBuffer version = random_chunk(1);
    for (std::size_t i = 0; i < count; ++i) {
      version[(i * 977) % version.size()] ^= 0x55;
      ids.push_back(keep(version));
    }
    for (std::size_t i = 1; i < count; ++i) EXPECT_THAT(volume_.sources_of(ids[i]), ElementsAre(ids[i - 1]));
    return ids;
  }
  ByteBuffer content_of(ChunkId id) {
    const std::string content = volume_.read(id);
    return {content.begin(), content.end()};
  }
  std::uint8_t depth_of(ChunkId id) {
    const auto entries = volume_.volume().containers().read_directory(volume_.extent_of(id).value().place).value();
    return std::ranges::find(entries, id, &RegionEntry::id)->depth;
  }
  void expect_sound() {
    volume_.expect_kept_for_good();
    EXPECT_THAT(volume_.check(), IsEmpty());
  }

  ReclaimedVolume volume_;
};

// ---------------------------------------------------------------- what takes a base's place

TEST_F(RebaseTest, ABaseThatOnlyADeltaNeedsGoesAndTheDeltaReadsTheSame) {
  const auto versions = keep_versions(2);
  volume_.drop(versions[0]);

  const ReclaimFindings findings = reclaim(volume_);

  EXPECT_EQ(findings.rebased_chunks, 1u);
  EXPECT_EQ(findings.rebased_bytes, kChunkBytes);
  EXPECT_EQ(findings.erased_chunks, 1u);
  EXPECT_EQ(volume_.chunks(), std::set{versions[1]});
  EXPECT_FALSE(volume_.is_delta(versions[1]));
  EXPECT_LT(volume_.container_bytes(), 2 * kChunkBytes);
  expect_sound();
}

TEST_F(RebaseTest, ADeltaIsMadeFromWhatItsBaseWasMadeFrom) {
  const auto versions = keep_versions(4);
  volume_.drop(versions, {1, 2});

  EXPECT_EQ(reclaim(volume_).erased_chunks, 2u);

  EXPECT_THAT(volume_.sources_of(versions[3]), ElementsAre(versions[0]));
  EXPECT_LT(volume_.container_bytes(), 2 * kChunkBytes);
  expect_sound();
}

TEST_F(RebaseTest, WhatIsMadeFromADeltaThatIsStoredAnewStaysAsItIs) {
  const auto versions = keep_versions(3);
  volume_.drop(versions[0]);

  EXPECT_EQ(reclaim(volume_).rebased_chunks, 1u);

  EXPECT_THAT(volume_.sources_of(versions[2]), ElementsAre(versions[1]));
  expect_sound();
}

class RebaseOfSiblings : public RebaseTest {
 protected:
  RebaseOfSiblings() : RebaseTest("odess+:depth=1,neighbours=0") {}
};

TEST_F(RebaseOfSiblings, OneTakesTheBasesPlaceAndTheOthersAreMadeFromIt) {
  const ChunkId base = keep(random_chunk(1));
  std::vector<ChunkId> siblings;
  for (std::size_t i = 0; i < 4; ++i) {
    ByteBuffer sibling = random_chunk(1);
    sibling[1000 * i] ^= 1;
    siblings.push_back(keep(sibling));
    ASSERT_THAT(volume_.sources_of(siblings.back()), ElementsAre(base));
  }
  volume_.drop(base);

  EXPECT_EQ(reclaim(volume_).erased_chunks, 1u);

  EXPECT_FALSE(volume_.is_delta(siblings[0]));
  for (std::size_t i = 1; i < 4; ++i) EXPECT_THAT(volume_.sources_of(siblings[i]), ElementsAre(siblings[0]));
  EXPECT_LT(volume_.container_bytes(), 2 * kChunkBytes);
  expect_sound();
}

class RebaseOfGenerations : public RebaseTest {
 protected:
  RebaseOfGenerations() : RebaseTest("odess+:depth=3,neighbours=1") {}
};

TEST_F(RebaseOfGenerations, NoChunkGetsDeeperAndSourcesAreLessDeepThanWhatIsMadeFromThem) {
  std::vector<std::vector<ChunkId>> generations;
  std::vector<ByteBuffer> contents = chunks(0, 6);
  for (std::size_t generation = 0; generation < 7; ++generation) {
    for (std::size_t i = 0; i < contents.size(); ++i) contents[i][(generation * 1709 + i) % kChunkBytes] ^= 0x11;
    generations.push_back(volume_.keep(contents));
    volume_.begin_container();
  }
  std::map<ChunkId, std::uint8_t> depths;
  for (std::size_t i = 0; i < generations.size(); ++i) {
    for (const ChunkId id : generations[i]) {
      depths[id] = depth_of(id);
      if (i % 2 == 0) volume_.drop(id);
    }
  }

  EXPECT_GT(reclaim(volume_).rebased_chunks, 6u);

  EXPECT_EQ(volume_.chunks().size(), volume_.kept().size());
  for (const ChunkId id : volume_.chunks()) {
    EXPECT_LE(depth_of(id), depths[id]);
    for (const ChunkId source : volume_.sources_of(id)) EXPECT_LT(depth_of(source), depth_of(id));
  }
  expect_sound();
}

// ---------------------------------------------------------------- what would be long without its bases

class RebaseOfOversizedChunks : public RebaseTest {
 protected:
  RebaseOfOversizedChunks() : RebaseTest("odess+:depth=4,neighbours=1") {}

  // Chunks that are like one that stays, but for a part, which they have from its neighbour, which goes. That is short, and a
  // delta; all such are made from one chunk, which goes too.
  std::vector<ChunkId> keep_oversized(std::size_t count) {
    const ByteBuffer root = random_bytes(2 * kPart, 1);
    dropped_.push_back(volume_.keep({random_chunk(2), root, random_chunk(3)})[1]);
    std::vector<ByteBuffer> contents;
    for (std::size_t i = 0; i < count; ++i) {
      ByteBuffer version = root;
      version[100 * i] ^= 1;
      const ByteBuffer like = random_chunk(440 + i);
      volume_.begin_container();
      const auto ids =
          volume_.keep({random_chunk(200 + i), version, like, random_chunk(300 + i), random_chunk(500 + i)});
      dropped_.push_back(ids[1]);
      contents.push_back(like);
      std::ranges::copy_n(root.end() - kPart, kPart, contents.back().begin());
    }
    volume_.begin_container();
    std::vector<ChunkId> ids;
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(volume_.is_delta(dropped_[1 + i]));
      ids.push_back(keep(contents[i]));
      EXPECT_THAT(volume_.sources_of(ids[i]), Contains(dropped_[1 + i]));
    }
    for (const ChunkId id : dropped_) volume_.drop(id);
    return ids;
  }

  static constexpr std::ptrdiff_t kPart = 1500;
  std::vector<ChunkId> dropped_;
};

TEST_F(RebaseOfOversizedChunks, TheyAreStoredAnewWhereTheyTakeLessThanTheirBasesTogether) {
  const ChunkId long_one = keep_oversized(1)[0];

  EXPECT_EQ(reclaim(volume_).erased_chunks, dropped_.size());

  EXPECT_TRUE(volume_.is_delta(long_one)) << "of what it is like";
  expect_sound();
}

TEST_F(RebaseOfOversizedChunks, TheirBasesStayWhereTheyTakeMoreThanThose) {
  keep_oversized(3);

  EXPECT_EQ(reclaim(volume_).erased_chunks, 0u);

  expect_sound();
}

TEST_F(RebaseTest, WhereTooLittleWouldComeBackNothingIsStoredAnew) {
  const auto versions = keep_versions(2);
  keep(random_chunk(50));
  volume_.drop(versions[0]);
  volume_.settings.bases_left = 0.5;

  EXPECT_EQ(reclaim(volume_).rebased_chunks, 0u);

  EXPECT_TRUE(volume_.has(versions[0]));
  expect_sound();
}

TEST_F(RebaseTest, WithoutRoomNothingIsStoredAnew) {
  const auto versions = keep_versions(2);
  volume_.drop(versions[0]);
  volume_.available_bytes = 1000;

  EXPECT_EQ(reclaim(volume_).rebased_chunks, 0u);

  EXPECT_TRUE(volume_.has(versions[0]));
  expect_sound();
}

// ---------------------------------------------------------------- others beside it

TEST_F(RebaseTest, ABaseThatAFileRefersToAgainMeanwhileStays) {
  const auto versions = keep_versions(3);
  const ByteBuffer base = content_of(versions[0]);
  volume_.drop(versions, {0, 1});
  bool was_rebasing = false;
  volume_.progress = [&](ReclaimPhase phase) {
    if (phase != ReclaimPhase::kRebase || std::exchange(was_rebasing, true)) return Result<void>();
    EXPECT_EQ(volume_.keep(base), versions[0]);
    return Result<void>();
  };

  reclaim(volume_);

  EXPECT_TRUE(was_rebasing);
  EXPECT_TRUE(volume_.has(versions[0]));
  expect_sound();
}

TEST_F(RebaseTest, ADeltaThatIsMadeFromABaseMeanwhileKeepsIt) {
  const auto versions = keep_versions(2);
  const ByteBuffer like_base = edited(content_of(versions[0]));
  volume_.drop(versions[0]);
  ASSERT_TRUE(volume_.commit());
  ChunkId made{};
  volume_.before_erasing = [&] { made = volume_.keep(like_base); };

  reclaim(volume_);

  ASSERT_TRUE(volume_.commit());
  for (const ChunkId source : volume_.sources_of(made)) EXPECT_TRUE(volume_.has(source));
  expect_sound();
}

// ---------------------------------------------------------------- what goes wrong

TEST_F(RebaseTest, ADeltaOfADamagedBaseStaysAsItIs) {
  const auto versions = keep_versions(2);
  volume_.drop(versions[0]);
  volume_.damage_payload_of(versions[0]);
  ASSERT_TRUE(volume_.commit());
  volume_.reopen();

  EXPECT_EQ(reclaim(volume_).rebased_chunks, 0u);

  EXPECT_THAT(volume_.sources_of(versions[1]), ElementsAre(versions[0]));
  EXPECT_TRUE(volume_.has(versions[0]));
}

TEST_F(RebaseTest, OneThatIsStoppedIsFinishedByTheNext) {
  const auto versions = keep_versions(4);
  volume_.drop(versions, {0, 2});
  volume_.progress = [](ReclaimPhase phase) { return phase == ReclaimPhase::kRebase ? stopped() : Result<void>(); };
  EXPECT_FALSE(volume_.reclaim());
  volume_.expect_kept();
  EXPECT_TRUE(volume_.has(versions[0]));

  EXPECT_EQ(reclaim(volume_).erased_chunks, 2u);

  expect_sound();
}

TEST_F(RebaseTest, ACrashAnywhereLosesNothing) {
  const auto versions = keep_versions(5);
  volume_.drop(versions, {0, 2, 3});
  ASSERT_TRUE(volume_.commit());
  TempDir copies;
  std::vector<ReclaimedVolume::References> kept;
  const auto copy = [&] {
    crash_copy(volume_.path(), copies.path() / std::to_string(kept.size()));
    kept.push_back(volume_.kept());
  };
  volume_.committed = copy;
  volume_.progress = [&](ReclaimPhase) {
    copy();
    return Result<void>();
  };
  EXPECT_EQ(reclaim(volume_).erased_chunks, 3u);
  volume_.committed = nullptr;
  ASSERT_GE(kept.size(), 5u);

  for (std::size_t i = 0; i < kept.size(); ++i) {
    SCOPED_TRACE("state " + std::to_string(i));
    ReclaimedVolume state(copies.path() / std::to_string(i), kept[i]);
    state.expect_kept();
    EXPECT_THAT(state.check(), IsEmpty());
    ASSERT_TRUE(state.reclaim());
    EXPECT_EQ(state.chunks().size(), 2u);
    state.expect_kept_for_good();
  }
}

TEST_F(RebaseTest, AnIndexThatIsRebuiltFromTheContainersHasWhatWasStoredLast) {
  const auto versions = keep_versions(3);
  volume_.drop(versions[1]);
  volume_.progress = [](ReclaimPhase phase) { return phase == ReclaimPhase::kSweep ? stopped() : Result<void>(); };
  (void)volume_.reclaim();
  ASSERT_THAT(volume_.sources_of(versions[2]), ElementsAre(versions[0]));
  TempDir elsewhere;
  ASSERT_TRUE(Database::create(folder_at(elsewhere.path() / "index")));
  const auto index = std::move(*Database::open(folder_at(elsewhere.path() / "index"), {.memory_bytes = 8 << 20}));
  CheckReport report([](const std::string&) {});

  ASSERT_TRUE(rebuild_chunks(volume_.volume().containers(), *index, {}, report, no_progress, 1));

  const auto extent = find_extent(*index, versions[2]).value();
  ASSERT_TRUE(extent);
  EXPECT_EQ(extent->place, volume_.extent_of(versions[2])->place);
}

// Where a chunk was is remembered over commits, and what its old copy was made from may be gone.
TEST(ReadingWhatWasStoredAnew, ADeltaWhoseOldPlaceIsRememberedIsReadFromTheNewOne) {
  SampleStore store;
  const ByteBuffer content = edited(random_chunk(1));
  store.put(1, random_chunk(1)).put_delta(2, content, {1});
  ChunkReader reader = store.make_reader(0);
  (void)reader.is_cached(ChunkId{2});  // looks up where it is, and not where its source is

  store.put(2, content).forget(1);

  const auto read = reader.get(ChunkId{2});
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(text_of(read->bytes.bytes), text_of(content));
}

}  // namespace
}  // namespace dedupfs
