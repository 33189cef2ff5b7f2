// Reclaims that are stopped, fail, meet damage or a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reclaimed_volume.h"
#include "store/check/index_rebuild.h"
#include "store/chunks/damage_record.h"
#include "support/folder_at.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

ErrorCode code_of(const Result<ReclaimFindings>& findings) {
  EXPECT_FALSE(findings) << "nothing went wrong";
  return findings ? ErrorCode::kExists : findings.error().code();
}

// Chunks and chains of deltas, half of them dropped, each commit in an extent of its own.
class InterruptedReclaim : public testing::Test {
 protected:
  InterruptedReclaim() {
    for (std::uint64_t i = 0; i < 4; ++i) {
      contents_.push_back(random_chunk(i));
      for (int version = 0; version < 3; ++version) contents_.push_back(edited(contents_.back(), version));
    }
    for (const ByteBuffer& content : contents_) {
      ids_.push_back(volume_.keep(content));
      volume_.begin_container();
    }
    // Of the first two chains everything, of the third the newest, of the last nothing.
    for (std::size_t i = 0; i < 8; ++i) volume_.drop(ids_[i]);
    volume_.drop(ids_[11]);
    EXPECT_TRUE(volume_.commit());
    EXPECT_TRUE(volume_.is_delta(ids_[7]));
  }

  static ByteBuffer edited(ByteBuffer bytes, int version) {
    bytes[1000 + static_cast<std::size_t>(version) * 777] ^= 1;
    return bytes;
  }

  void expect_sound() {
    volume_.expect_kept();
    EXPECT_THAT(volume_.check(), IsEmpty());
  }
  // Everything that was ever there comes again, and is there for good.
  void write_all_again() {
    for (const ByteBuffer& content : contents_) {
      volume_.keep(content);
      volume_.keep(edited(content, 9));
    }
    volume_.expect_kept_for_good();
  }
  void expect_nothing_left_but_what_is_kept() {
    ASSERT_TRUE(volume_.reclaim());
    ASSERT_TRUE(volume_.reclaim());
    std::set<ChunkId> left(ids_.begin() + 8, ids_.end());
    left.erase(ids_[11]);
    EXPECT_EQ(volume_.chunks(), left);
    EXPECT_THAT(volume_.containers(), SizeIs(1));
    expect_sound();
  }

  ReclaimedVolume volume_{"odess+:depth=8,neighbours=0"};
  std::vector<ByteBuffer> contents_;
  std::vector<ChunkId> ids_;
};

TEST_F(InterruptedReclaim, WhileMarkingChangesNothing) {
  const auto before = volume_.chunks();
  volume_.progress = [](ReclaimPhase) { return stopped(); };

  EXPECT_EQ(code_of(volume_.reclaim()), ErrorCode::kInterrupted);

  EXPECT_EQ(volume_.chunks(), before);
  expect_sound();
  EXPECT_EQ(volume_.keep(contents_[7]), ids_[7]) << "it may be referred to again";
  volume_.expect_kept_for_good();
}

// Round 0 erases chunks that nothing is made from, round 1 what these were made from, and so on. Sixteen runs.
class InterruptedErasing : public InterruptedReclaim, public testing::WithParamInterface<std::pair<int, int>> {
 protected:
  void interrupt() {
    bool reached = false;
    volume_.at_erased_extent(static_cast<std::uint64_t>(GetParam().first),
                             static_cast<std::uint64_t>(GetParam().second), [&] {
                               reached = true;
                               return stopped();
                             });
    EXPECT_EQ(code_of(volume_.reclaim()), ErrorCode::kInterrupted);
    ASSERT_TRUE(reached);
  }
};

TEST_P(InterruptedErasing, LeavesASoundVolumeAndTheNextReclaimFinishes) {
  interrupt();

  expect_sound();
  volume_.reopen();
  expect_sound();
  expect_nothing_left_but_what_is_kept();
  write_all_again();
}

TEST_P(InterruptedErasing, NothingNewRefersToWhatWasErased) {
  for (const ChunkId id : ids_) (void)volume_.read(id);  // into the caches
  interrupt();

  write_all_again();
  EXPECT_THAT(volume_.check(), IsEmpty());
}

TEST_P(InterruptedErasing, NothingNewRefersToWhatIsErasedAfterAll) {
  for (const ChunkId id : ids_) (void)volume_.read(id);
  interrupt();
  volume_.while_marking = [&] {
    for (const ByteBuffer& content : contents_) volume_.keep(edited(content, 5));
  };

  ASSERT_TRUE(volume_.reclaim());

  volume_.expect_kept_for_good();
  EXPECT_THAT(volume_.check(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(, InterruptedErasing,
                         testing::Values(std::pair(0, 0), std::pair(0, 4), std::pair(0, 12), std::pair(1, 0),
                                         std::pair(1, 3), std::pair(1, 7), std::pair(2, 2), std::pair(2, 6),
                                         std::pair(3, 1), std::pair(3, 5), std::pair(3, 15)));

TEST_F(InterruptedReclaim, WhileSweepingIsFinishedByTheNext) {
  int swept = 0;
  volume_.progress = [&](ReclaimPhase phase) {
    return phase == ReclaimPhase::kCopyForward && ++swept == 3 ? stopped() : Result<void>();
  };

  EXPECT_EQ(code_of(volume_.reclaim()), ErrorCode::kInterrupted);

  ASSERT_EQ(swept, 3);
  expect_sound();
  ASSERT_TRUE(volume_.commit());
  volume_.reopen();
  expect_sound();
  expect_nothing_left_but_what_is_kept();
  write_all_again();
}

// As after a crash between any two commits of it, and while regions are written that no commit knows of.
TEST_F(InterruptedReclaim, ByACrashAnywhereLosesNothing) {
  TempDir copies;
  std::vector<ReclaimedVolume::References> kept;
  const auto copy = [&] {
    crash_copy(volume_.path(), copies.path() / std::to_string(kept.size()));
    kept.push_back(volume_.kept());
  };
  volume_.committed = copy;
  volume_.progress = [&](ReclaimPhase phase) {
    if (phase == ReclaimPhase::kCopyForward) copy();
    return Result<void>();
  };
  ASSERT_TRUE(volume_.reclaim());
  volume_.committed = nullptr;
  ASSERT_GE(kept.size(), 8u);

  for (std::size_t i = 0; i < kept.size(); ++i) {
    SCOPED_TRACE("state " + std::to_string(i));
    ReclaimedVolume state(copies.path() / std::to_string(i), kept[i]);
    state.expect_kept();
    EXPECT_THAT(state.check(), IsEmpty());
    for (const ByteBuffer& content : contents_) {
      state.keep(content);
      state.keep(edited(content, 9));
    }
    state.expect_kept_for_good();
    state.drop_all();
    ASSERT_TRUE(state.reclaim());
    EXPECT_THAT(state.containers(), IsEmpty());
  }
}

// Containers that stay may hold erased chunks still, and older copies of moved ones.
TEST_F(InterruptedReclaim, AnIndexThatIsRebuiltFromTheContainersFindsWhatIsKeptWhereItIs) {
  int swept = 0;
  volume_.progress = [&](ReclaimPhase phase) {
    return phase == ReclaimPhase::kCopyForward && ++swept == 6 ? stopped() : Result<void>();
  };
  EXPECT_EQ(code_of(volume_.reclaim()), ErrorCode::kInterrupted);
  ASSERT_TRUE(volume_.commit());
  TempDir elsewhere;
  ASSERT_TRUE(Database::create(folder_at(elsewhere.path() / "index")));
  const auto index = std::move(*Database::open(folder_at(elsewhere.path() / "index"), {.memory_bytes = 8 << 20}));
  CheckReport report([](const std::string&) {});

  ASSERT_TRUE(rebuild_chunks(volume_.volume().containers(), *index, {}, report, no_progress, 1));

  for (const auto& [id, content] : volume_.kept()) {
    const auto extent = find_extent(*index, id).value();
    ASSERT_TRUE(extent) << number_of(id);
    EXPECT_EQ(extent->place, volume_.extent_of(id)->place) << number_of(id);
  }
}

// ---------------------------------------------------------------- commits that fail

TEST_F(InterruptedReclaim, ByCommitsThatFailLetsNobodyReferToTheDeadUntilTheyAreErased) {
  bool erasing = false;
  volume_.before_erasing = [&] { erasing = true; };
  volume_.fail_commit = [&] { return erasing; };
  EXPECT_EQ(code_of(volume_.reclaim()), ErrorCode::kNoSpace);
  ASSERT_TRUE(erasing);

  const ChunkId again = volume_.keep(contents_[0]);
  EXPECT_NE(again, ids_[0]);
  EXPECT_EQ(volume_.keep(contents_[9]), ids_[9]);
  volume_.fail_commit = nullptr;
  ASSERT_TRUE(volume_.reclaim());

  volume_.expect_kept_for_good();
  EXPECT_FALSE(volume_.has(ids_[0]));
  write_all_again();
}

TEST_F(InterruptedReclaim, ByACommitThatFailsOnceLosesNothing) {
  for (int failing = 1; failing < 8; ++failing) {
    SCOPED_TRACE(failing);
    int commits = 0;
    volume_.fail_commit = [&] { return ++commits == failing; };
    (void)volume_.reclaim();
    volume_.fail_commit = nullptr;
    for (const ByteBuffer& content : contents_) volume_.keep(edited(content, 10 + failing));
    volume_.expect_kept_for_good();
    EXPECT_THAT(volume_.check(), IsEmpty());
    volume_.drop_all();
    for (std::size_t i = 0; i < contents_.size(); i += 2) volume_.keep(contents_[i]);
    ASSERT_TRUE(volume_.commit());
  }
}

// ---------------------------------------------------------------- damage

class ReclaimOfDamage : public testing::Test {
 protected:
  ReclaimOfDamage() {
    for (std::uint64_t i = 0; i < 4; ++i) {
      const auto region = volume_.keep(chunks(10 * i, 10 * i + 5));
      ids_.insert(ids_.end(), region.begin(), region.end());
      EXPECT_TRUE(volume_.commit());
    }
    volume_.drop(ids_, {0, 1, 5, 6, 15, 16});
    EXPECT_TRUE(volume_.commit());
    (void)volume_.volume().containers().begin_new_container();
    EXPECT_TRUE(volume_.commit());
  }
  // Regions have five chunks each.
  void expect_all_but_region(std::size_t damaged) {
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (i / 5 == damaged || !volume_.kept().contains(ids_[i])) continue;
      EXPECT_TRUE(volume_.reads_as(ids_[i], volume_.kept().at(ids_[i]))) << i;
    }
  }

  ReclaimedVolume volume_;
  std::vector<ChunkId> ids_;
};

TEST_F(ReclaimOfDamage, ARegionThatCannotBeReadStaysWithItsContainer) {
  volume_.damage_payload_of(ids_[5]);
  volume_.reopen();

  const auto findings = volume_.reclaim();

  ASSERT_TRUE(findings) << findings.error().message();
  EXPECT_EQ(findings->erased_chunks, 6u) << "their directory can be read";
  EXPECT_EQ(volume_.containers().front(), 1u);
  EXPECT_TRUE(volume_.has(ids_[7]));
  expect_all_but_region(1);
  // The content comes again, and heals what was lost.
  EXPECT_THAT(volume_.read(ids_[7]), HasSubstr("error: "));
  EXPECT_EQ(volume_.put({random_chunk(12)}).at(0), ids_[7]);
  EXPECT_TRUE(volume_.reads_as(ids_[7], random_chunk(12)));
}

TEST_F(ReclaimOfDamage, TheDeadOfARegionWithoutItsDirectoryStayAndAreNobodysReference) {
  volume_.damage_directory_of(ids_[5]);
  volume_.reopen();

  const auto findings = volume_.reclaim();

  ASSERT_TRUE(findings) << findings.error().message();
  EXPECT_EQ(findings->erased_chunks, 4u);
  EXPECT_TRUE(volume_.has(ids_[5]));
  expect_all_but_region(1);
  EXPECT_EQ(volume_.keep(random_chunk(10)), ids_[5]);
  EXPECT_TRUE(volume_.reads_as(ids_[5], random_chunk(10))) << "stored from what came, not found";
}

TEST_F(ReclaimOfDamage, AContainerWithADamagedHeaderStays) {
  flip_bit(volume_.container_of(ids_[0]), 20);
  volume_.reopen();

  ASSERT_TRUE(volume_.reclaim());

  EXPECT_EQ(volume_.containers().front(), 1u);
  EXPECT_TRUE(volume_.has(ids_[2]));
}

TEST_F(ReclaimOfDamage, AnErasedChunkIsNotDamagedAnyMore) {
  volume_.damage_payload_of(ids_[5]);
  volume_.reopen();
  EXPECT_THAT(volume_.read(ids_[7]), HasSubstr("error: "));
  const auto before = volume_.volume().chunks().damage().damaged_chunks();
  ASSERT_EQ(before, 5u);

  ASSERT_TRUE(volume_.reclaim());

  EXPECT_EQ(volume_.volume().chunks().damage().damaged_chunks(), 3u) << "those that are referred to";
  volume_.drop(ids_, {7, 8, 9});
  ASSERT_TRUE(volume_.reclaim());
  EXPECT_EQ(volume_.volume().chunks().damage().damaged_chunks(), 0u);
  volume_.expect_kept_for_good();
  EXPECT_EQ(volume_.volume().chunks().damage().damaged_chunks(), 0u);
}

// Two chunks have one content then. Which of them is found depends on what was read: the neighbours of the older one lead to it.
TEST(ReclaimOfTwins, AChunkOutlivesTheOneThatItsFingerprintLedTo) {
  ReclaimedVolume volume;
  const auto ids = volume.keep(chunks(0, 5));
  ASSERT_TRUE(volume.commit());
  for (std::uint64_t i = 10; i < 20; ++i) {  // so that the twin is no neighbour
    volume.keep(random_chunk(i));
    ASSERT_TRUE(volume.commit());
  }
  volume.drop(ids[1]);
  ChunkId twin{};
  volume.at_erased_extent(0, 0, [&] {
    twin = volume.keep(random_chunk(1));
    return stopped();
  });
  ASSERT_FALSE(volume.reclaim());
  ASSERT_NE(twin, ids[1]);
  ASSERT_TRUE(volume.commit());
  volume.reopen();
  ASSERT_EQ(volume.keep(chunks(0, 2)).at(1), ids[1]);
  volume.drop(twin);

  ASSERT_TRUE(volume.reclaim());

  EXPECT_FALSE(volume.has(twin));
  EXPECT_THAT(volume.check("error: "), IsEmpty());
  volume.expect_kept_for_good();
  EXPECT_TRUE(volume.reads_as(volume.keep(random_chunk(1)), random_chunk(1)));
}

}  // namespace
}  // namespace dedupfs
