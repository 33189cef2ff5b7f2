// Real volumes in a bucket: what the bucket alone gives mounts, and is a state that was shipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "fake_image.h"
#include "replica/bucket_backing.h"
#include "store/reclaimed_volume.h"
#include "store/rotated_volume.h"
#include "support/memory_bucket.h"

namespace dedupfs {
namespace {

using testing::IsEmpty;

class ReplicatedVolumeTest : public testing::TestWithParam<bool> {
 protected:
  std::shared_ptr<Backing> backing() const { return GetParam() ? RotatedVolume::backing() : Backing::posix(); }

  void SetUp() override {
    VolumeSettings settings;
    settings.compression = {.settled = parse_compression("none").value()};
    settings.delta = parse_delta_settings("none").value();
    if (!GetParam()) {
      ASSERT_TRUE(Volume::create(plain_, settings));
    }
    volume_.emplace(GetParam() ? rotated_.path() : plain_, ReclaimedVolume::References(), backing());
    ASSERT_TRUE(writer_.attach());
  }
  void use(std::uint64_t seed) {
    const auto ids = volume_->keep(chunks(seed, seed + 5));
    ASSERT_TRUE(volume_->commit());
    volume_->drop(ids, {0, 1, 2});
    if (seed % 2 == 0) volume_->begin_container();
    if (seed % 3 == 0) {
      ASSERT_TRUE(volume_->volume().database().empty_log());
    }
    ASSERT_TRUE(volume_->commit());
    if (seed % 4 == 0) {
      ASSERT_TRUE(volume_->reclaim());
    }
  }
  Result<Shipper::Shipped> ship() {
    ++writer_.seconds;
    DEDUPFS_ASSIGN(const auto captured, capture(volume_->volume()));
    Shipper::Settings settings = writer_.settings();
    settings.piece_bytes = 1 << 20;
    if (!shipper_) shipper_.emplace(bucket_, writer_.saved, settings);
    return shipper_->ship(*captured);
  }
  // The volume as the newest head has it, opened with nothing on this machine.
  Result<std::unique_ptr<Volume>> open_in_bucket() {
    const auto disk =
        std::make_shared<BucketBacking>(shared_bucket(bucket_), *load_replica(bucket_).value(),
                                        BucketBacking::Settings{.cache_bytes = 256 << 10, .block_bytes = 16 << 10});
    const auto opener =
        GetParam() ? std::make_shared<SealedBacking>(
                         disk,
                         [](const Path&, const KeyHeader& header) -> Result<std::shared_ptr<const VolumeKey>> {
                           DEDUPFS_ASSIGN(UnlockedKey unlocked, unlock(header, bytes_of(std::string("passphrase 1"))));
                           return std::move(unlocked.key);
                         })
                   : std::shared_ptr<Backing>(disk);
    return Volume::open("/bucket", {.read_only = true, .index_memory_bytes = 16 << 20}, opener);
  }
  // As of what is in the bucket now.
  void expect_bucket_gives(Bucket& bucket, const ReclaimedVolume::References& kept) {
    const Path path = directory_.path() / "clone";
    std::filesystem::remove_all(path);
    std::filesystem::create_directory(path);
    const auto replica = load_replica(bucket);
    ASSERT_TRUE(replica && *replica);
    const auto cloned = clone_replica(bucket, **replica, *folder_at(path), {});
    ASSERT_TRUE(cloned) << cloned.error().message();
    ReclaimedVolume clone(path, kept, backing());
    EXPECT_THAT(clone.check(), IsEmpty());
    clone.expect_kept_for_good();
  }

  const TempDir directory_;
  const RotatedVolume rotated_;
  const Path plain_ = directory_.path() / "plain";
  std::optional<ReclaimedVolume> volume_;
  MemoryBucket bucket_;
  Writer writer_{bucket_};
  std::optional<Shipper> shipper_;
};
INSTANTIATE_TEST_SUITE_P(Plain, ReplicatedVolumeTest, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Encrypted, ReplicatedVolumeTest, testing::Values(true));

// A cut after each operation on the bucket.
TEST_P(ReplicatedVolumeTest, TheBucketAloneIsAlwaysAVolumeThatWasShipped) {
  struct Cut {
    MemoryObjects::Image objects;
    bool has_next_head = false;
  };
  std::vector<ReclaimedVolume::References> shipped;
  std::vector<std::vector<Cut>> cuts;  // of each ship
  bucket_.set_hook([&](const MemoryBucket::Call& call, MemoryBucket::When when) {
    const bool is_change =
        call.operation == MemoryBucket::Operation::kPut || call.operation == MemoryBucket::Operation::kRemove;
    if (when == MemoryBucket::When::kAfter && is_change && !cuts.empty())
      cuts.back().push_back({.objects = bucket_.objects().image(),
                             .has_next_head = bucket_.objects().image().contains(head_object(cuts.size()))});
  });
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    use(seed * 10 + seed);
    shipped.push_back(volume_->kept());
    cuts.emplace_back();
    const auto done = ship();
    ASSERT_TRUE(done) << done.error().message();
    ASSERT_EQ(done->sequence, seed + 1);
    writer_.seconds += 100;
    ASSERT_TRUE(shipper_->collect(std::chrono::seconds(50)));
  }
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    // The first, one in the middle, that of the head, the last: mounting takes a while.
    std::set<std::size_t> tried = {0, cuts[i].size() / 2, cuts[i].size() - 1};
    for (std::size_t j = 1; j < cuts[i].size(); ++j)
      if (cuts[i][j].has_next_head != cuts[i][j - 1].has_next_head) tried.insert({j - 1, j});
    for (const std::size_t j : tried) {
      SCOPED_TRACE(testing::Message() << "ship " << i << ", operation " << j);
      const Cut& cut = cuts[i][j];
      if (!cut.has_next_head && i == 0) continue;
      MemoryBucket bucket(std::make_shared<MemoryObjects>(cut.objects));
      expect_bucket_gives(bucket, shipped[cut.has_next_head ? i : i - 1]);
    }
  }
}

TEST_P(ReplicatedVolumeTest, AnUnmountedVolumeIsShippedWithoutItsKeyAndClonesGoOn) {
  use(0);
  ASSERT_TRUE(ship());
  use(2);
  const auto kept = volume_->kept();
  const Path path = volume_->path();
  volume_.reset();
  const auto captured = capture_closed(Backing::posix()->open_root(path).value());
  ASSERT_TRUE(captured);
  writer_.saved = shipper_->position();
  writer_.restart();

  const auto shipped = writer_.shipper().ship(**captured);

  ASSERT_TRUE(shipped) << shipped.error().message();
  expect_bucket_gives(bucket_, kept);
}

// With nothing on this machine.
TEST_P(ReplicatedVolumeTest, AVolumeInABucketIsReadThere) {
  use(0);
  ASSERT_TRUE(volume_->volume().database().empty_log());
  use(1);
  const auto kept = volume_->kept();
  ASSERT_TRUE(ship());
  const auto opened = open_in_bucket();

  ASSERT_TRUE(opened) << opened.error().message();
  for (const auto& [id, chunk] : kept) {
    const auto bytes = (*opened)->chunks().get(id);
    ASSERT_TRUE(bytes) << bytes.error().message();
    EXPECT_EQ(text_of(bytes->bytes), text_of(chunk));
  }
}

TEST_P(ReplicatedVolumeTest, OpeningAVolumeInABucketReadsNoContainer) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    use(seed);
    volume_->begin_container();
  }
  const auto kept = volume_->kept();
  ASSERT_TRUE(ship());
  int reads = 0;
  bucket_.set_hook([&reads](const MemoryBucket::Call& call, MemoryBucket::When when) {
    if (call.operation == MemoryBucket::Operation::kRead && when == MemoryBucket::When::kBefore)
      reads += call.object.starts_with("c/") ? 1 : 0;
  });

  const auto opened = open_in_bucket();

  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_EQ(reads, 0);
  for (const auto& [id, chunk] : kept) ASSERT_TRUE((*opened)->chunks().get(id));
  EXPECT_GT(reads, 0);
}

// A reader of an older head for which the grace is over: what it needs may be gone.
TEST_P(ReplicatedVolumeTest, AReaderThatOutlivesACollectionGetsWhatItHadOrAnError) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    volume_->keep(chunks(seed * 1000, seed * 1000 + 100));
    volume_->begin_container();
  }
  ASSERT_TRUE(volume_->commit());
  ASSERT_TRUE(volume_->volume().database().empty_log());
  const auto kept = volume_->kept();
  ASSERT_TRUE(ship());
  const auto reader = open_in_bucket();
  ASSERT_TRUE(reader) << reader.error().message();
  ASSERT_TRUE((*reader)->chunks().get(kept.begin()->first));

  for (const auto& [id, chunk] : kept)
    if (number_of(id) % 4 != 0) volume_->drop(id);
  ASSERT_TRUE(volume_->commit());
  ASSERT_TRUE(volume_->reclaim());
  ASSERT_TRUE(volume_->volume().database().empty_log());
  ASSERT_TRUE(ship());
  writer_.seconds += 1000;
  const auto collected = shipper_->collect(std::chrono::seconds(0));
  ASSERT_TRUE(collected);
  ASSERT_GT(collected->objects, 0u);

  std::size_t errors = 0;
  for (const auto& [id, chunk] : kept) {
    const auto bytes = (*reader)->chunks().get(id);
    if (bytes)
      EXPECT_EQ(text_of(bytes->bytes), text_of(chunk));
    else
      ++errors;
  }
  EXPECT_GT(errors, 0u) << "otherwise nothing was gone, and this shows nothing";
  const auto newest = open_in_bucket();
  ASSERT_TRUE(newest) << newest.error().message();
  for (const auto& [id, chunk] : volume_->kept()) {
    const auto bytes = (*newest)->chunks().get(id);
    ASSERT_TRUE(bytes) << bytes.error().message();
    EXPECT_EQ(text_of(bytes->bytes), text_of(chunk));
  }
}

// A lag in which nothing was written costs a few requests and no bytes.
TEST_P(ReplicatedVolumeTest, WhereNothingChangedNothingIsShipped) {
  use(0);
  ASSERT_TRUE(ship());

  const auto again = ship();

  ASSERT_TRUE(again);
  EXPECT_EQ(again->head_bytes, 0u);
  EXPECT_EQ(again->objects, 0u);
}

}  // namespace
}  // namespace dedupfs
