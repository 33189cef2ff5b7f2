// Real volumes of which most lies in a bucket.
#include "replica/eviction/container_evictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "../fake_image.h"
#include "replica/eviction/evicted_record.h"
#include "replica/eviction/evicting_disk.h"
#include "replica/eviction/make_evicted.h"
#include "replica/remote_file.h"
#include "store/reclaimed_volume.h"
#include "store/rotated_volume.h"
#include "support/memory_bucket.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class ContainerEvictorTest : public testing::TestWithParam<bool> {
 protected:
  bool is_encrypted() const { return GetParam(); }
  Path path() const { return is_encrypted() ? rotated_.path() : plain_; }
  std::shared_ptr<Backing> disk() {
    const auto disk = std::make_shared<EvictingDisk>(
        Backing::posix(), [this](const RemoteAddress&, const GoOn&) -> Result<std::unique_ptr<Bucket>> {
          return std::make_unique<SameBucket>(bucket_);
        });
    if (!is_encrypted()) return disk;
    return std::make_shared<SealedBacking>(
        disk, [](const Path&, const KeyHeader& header) -> Result<std::shared_ptr<const VolumeKey>> {
          DEDUPFS_ASSIGN(UnlockedKey unlocked, unlock(header, bytes_of(std::string("passphrase 1"))));
          return std::move(unlocked.key);
        });
  }
  void SetUp() override {
    if (!is_encrypted()) create_plain("none");
    ASSERT_TRUE(writer_.attach());
    open_attached();
  }
  // `delta` as mkfs.dedupfs takes it.
  void create_plain(const std::string& delta) {
    VolumeSettings settings;
    settings.compression = {.settled = parse_compression("none").value()};
    settings.delta = parse_delta_settings(delta).value();
    ASSERT_TRUE(Volume::create(plain_, settings));
  }
  void open_attached() {
    volume_.emplace(path(), ReclaimedVolume::References(), disk());
    const RemoteRecord record{
        .volume = volume_->volume().superblock().uuid, .where = {.address = "s3://bucket"}, .position = writer_.saved};
    ASSERT_TRUE(save_remote_record(*folder_at(path()), record));
  }
  // A container of its own.
  void fill(std::uint64_t seed) {
    volume_->keep(chunks(seed * 100, seed * 100 + 30));
    volume_->begin_container();
    ASSERT_TRUE(volume_->commit());
  }
  Shipper& ship() {
    const auto captured = capture(volume_->volume());
    EXPECT_TRUE(captured);
    Shipper::Settings settings = writer_.settings();
    settings.piece_bytes = 1 << 20;
    settings.volume = volume_->volume().superblock().uuid;
    if (!shipper_) shipper_.emplace(bucket_, writer_.saved, settings);
    const auto shipped = shipper_->ship(**captured);
    EXPECT_TRUE(shipped) << shipped.error().message();
    return *shipper_;
  }
  ContainerEvictor::Evicted evict_all() {
    auto evictor = ContainerEvictor::start(volume_->volume(), 4);
    EXPECT_TRUE(evictor) << evictor.error().message();
    const auto evicted = (*evictor)->evict_surplus(ship().replica()->files, [] { return Result<void>(); });
    EXPECT_TRUE(evicted) << evicted.error().message();
    return *evicted;
  }
  void reopen() {
    const auto kept = volume_->kept();
    volume_.reset();
    volume_.emplace(path(), kept, disk());
  }
  void expect_all() {
    for (const auto& [id, chunk] : volume_->kept()) {
      const auto bytes = volume_->volume().chunks().get(id);
      ASSERT_TRUE(bytes) << bytes.error().message();
      ASSERT_EQ(text_of(bytes->bytes), text_of(chunk));
    }
  }
  Result<void> try_to_clone_index(const Path& clone_path) {
    std::filesystem::create_directories(clone_path / "evicted");
    const auto evicted = folder_at(clone_path / "evicted");
    const auto replica = load_replica(bucket_).value();
    DEDUPFS_TRY(remove_other_evicted(*evicted, replica->files));
    CloneSettings settings;
    settings.leave_container = [&](const std::string& name, const RemoteFile& file, const GoOn& go_on) {
      return make_evicted(*evicted, name, file, {.bucket = bucket_, .go_on = go_on});
    };
    return clone_replica(bucket_, *replica, *folder_at(clone_path), settings);
  }
  // Counts what is read of containers from then on.
  void clone_index(const Path& clone_path) {
    bucket_.set_fault([this](const MemoryBucket::Call& call) {
      if (call.operation == MemoryBucket::Operation::kRead && call.object.starts_with("c/")) ++reads_of_containers_;
      return MemoryBucket::Fault::kNone;
    });
    const auto cloned = try_to_clone_index(clone_path);
    ASSERT_TRUE(cloned) << cloned.error().message();
    ASSERT_TRUE(finish_clone(*folder_at(clone_path)));
  }
  static std::uint64_t size_of_containers(const Path& volume) {
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(volume / "containers")) bytes += entry.file_size();
    return bytes;
  }
  static std::uint64_t allocated_bytes(const Path& folder) {
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      bytes += folder_at(folder)->status(entry.path().filename().string()).value().allocated_bytes;
    return bytes;
  }
  void cut_off_bucket() {
    bucket_.set_fault([](const MemoryBucket::Call&) { return MemoryBucket::Fault::kFails; });
  }

  const TempDir directory_;
  const RotatedVolume rotated_;
  const Path plain_ = directory_.path() / "plain";
  std::optional<ReclaimedVolume> volume_;
  MemoryBucket bucket_;
  Writer writer_{bucket_};
  std::optional<Shipper> shipper_;
  std::atomic<std::uint64_t> reads_of_containers_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Plain, ContainerEvictorTest, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Encrypted, ContainerEvictorTest, testing::Values(true));

TEST_P(ContainerEvictorTest, AVolumeOfWhichMostIsInTheBucketIsWhole) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) fill(seed);
  const auto evicted = evict_all();
  EXPECT_GE(evicted.containers, 4u);
  EXPECT_GE(evicted.bytes, 4 * 30 * kChunkBytes);

  expect_all();
  reopen();
  expect_all();
  EXPECT_THAT(volume_->check(), IsEmpty());
}

TEST_P(ContainerEvictorTest, AMountAndDuplicatesNeedNothingFromTheBucket) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) fill(seed);
  evict_all();
  const auto before = volume_->kept();
  cut_off_bucket();

  reopen();
  const auto again = volume_->put(chunks(100, 130));

  for (const ChunkId id : again) EXPECT_TRUE(before.contains(id)) << number_of(id);
  fill(7);
  ASSERT_TRUE(volume_->commit());
}

TEST_P(ContainerEvictorTest, TheBucketKeepsWhatIsOnlyThere) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) fill(seed);
  evict_all();
  const std::uint64_t reads_before = bucket_.calls();
  fill(3);
  ship();
  EXPECT_LT(bucket_.calls() - reads_before, 40u);  // no container was read for that
  evict_all();
  const auto kept = volume_->kept();
  volume_.reset();
  const auto captured = capture_closed(EvictingDisk().open_root(path()).value());
  ASSERT_TRUE(captured);
  ASSERT_TRUE(shipper_->ship(**captured));
  ASSERT_TRUE(shipper_->collect(std::chrono::seconds(0)));

  const Path clone_path = directory_.path() / "clone";
  std::filesystem::create_directory(clone_path);
  ASSERT_TRUE(clone_replica(bucket_, *load_replica(bucket_).value(), *folder_at(clone_path), {}));
  ReclaimedVolume clone(clone_path, kept, disk());
  EXPECT_THAT(clone.check(), IsEmpty());
  clone.expect_kept_for_good();
}

TEST_P(ContainerEvictorTest, AReclaimEmptiesEvictedContainers) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) fill(seed);
  evict_all();
  std::vector<ChunkId> dropped;
  for (const auto& [id, chunk] : volume_->kept())
    if (number_of(id) % 3 != 0) dropped.push_back(id);
  for (const ChunkId id : dropped) volume_->drop(id);
  ASSERT_TRUE(volume_->commit());

  ASSERT_TRUE(volume_->reclaim());

  expect_all();
  EXPECT_THAT(evicted_containers_of(*folder_on_disk(volume_->volume().folder()))->names(), IsEmpty());
  EXPECT_THAT(volume_->check(), IsEmpty());
}

// remote_payback=3: 57 % of garbage. 0: what is there stays there, unless nothing of it is needed.
TEST_P(ContainerEvictorTest, WhatIsEvictedIsFetchedOnlyIfThatPaysBack) {
  constexpr std::size_t kInEach = 200;
  const auto drop_first = [this](const std::vector<ChunkId>& ids, std::size_t percent) {
    for (std::size_t i = 0; i < ids.size() * percent / 100; ++i) volume_->drop(ids[i]);
  };
  std::vector<std::vector<ChunkId>> ids;
  for (std::uint64_t i = 0; i < 4; ++i) {
    ids.push_back(volume_->keep(chunks(i * kInEach, (i + 1) * kInEach)));
    volume_->begin_container();
  }
  ASSERT_TRUE(volume_->commit());
  evict_all();
  drop_first(ids[0], 55);
  drop_first(ids[1], 59);
  drop_first(ids[2], 95);
  drop_first(ids[3], 100);
  ASSERT_TRUE(volume_->commit());
  const auto is_evicted = [this](std::uint32_t number) {
    return evicted_containers_of(*folder_on_disk(volume_->volume().folder()))->contains(container_name(number));
  };

  volume_->far_garbage = worth_fetching(0);
  const auto never = volume_->reclaim();

  ASSERT_TRUE(never) << never.error().message();
  EXPECT_EQ(never->moved_bytes, 0u);
  EXPECT_TRUE(is_evicted(1) && is_evicted(2) && is_evicted(3));
  EXPECT_FALSE(is_evicted(4)) << "nothing of it is needed";

  volume_->far_garbage = worth_fetching(3);
  ASSERT_TRUE(volume_->reclaim());

  EXPECT_TRUE(is_evicted(1));
  EXPECT_FALSE(is_evicted(2));
  EXPECT_FALSE(is_evicted(3));
  expect_all();
  EXPECT_THAT(volume_->check(), IsEmpty());
}

// remote_min_age: blocks that are read back change the file of an evicted container. The object is as old as before.
TEST_P(ContainerEvictorTest, AnEvictedContainerIsAsOldAsItsRecord) {
  for (std::uint64_t seed = 0; seed < 2; ++seed) fill(seed);
  evict_all();
  const auto make_older = [this](const std::string& name, std::chrono::hours age) {
    std::filesystem::last_write_time(path() / kEvictedDirectory / name,
                                     std::filesystem::file_time_type::clock::now() - age);
  };
  make_older(evicted_record_name(container_name(1)), std::chrono::days(31));
  make_older(container_name(1), std::chrono::days(0));
  make_older(evicted_record_name(container_name(2)), std::chrono::days(29));
  make_older(container_name(2), std::chrono::days(31));
  std::vector<ChunkId> dropped;
  for (const auto& [id, chunk] : volume_->kept())
    if (number_of(id) % 5 != 0) dropped.push_back(id);
  for (const ChunkId id : dropped) volume_->drop(id);
  ASSERT_TRUE(volume_->commit());
  volume_->least_age = std::chrono::days(30);

  ASSERT_TRUE(volume_->reclaim());

  const auto evicted = evicted_containers_of(*folder_on_disk(volume_->volume().folder()));
  EXPECT_FALSE(evicted->contains(container_name(1)));
  EXPECT_TRUE(evicted->contains(container_name(2)));
  expect_all();
}

TEST_P(ContainerEvictorTest, TheLastReadStayLongest) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) fill(seed);
  reopen();  // nothing is cached
  auto evictor = ContainerEvictor::start(volume_->volume(), 2 * 31 * kChunkBytes * 4 / 3);
  ASSERT_TRUE(evictor);
  const Shipper& shipped = ship();
  ASSERT_TRUE(volume_->volume().chunks().get(volume_->kept().begin()->first));

  ASSERT_TRUE((*evictor)->evict_surplus(shipped.replica()->files, [] { return Result<void>(); }));

  EXPECT_FALSE((*evictor)->containers().contains(container_name(1)));
  EXPECT_TRUE((*evictor)->containers().contains(container_name(2)));
}

TEST_P(ContainerEvictorTest, ACloneOfTheIndexAloneKnowsWhatItHas) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) fill(seed);
  ship();
  const auto kept = volume_->kept();
  const auto uuid = volume_->volume().superblock().uuid;
  volume_.reset();
  const Path clone_path = directory_.path() / "clone";
  clone_index(clone_path);
  const std::uint64_t stored = size_of_containers(path());
  EXPECT_LT(allocated_bytes(clone_path / "evicted"), stored / 2) << "of " << stored;
  ASSERT_TRUE(save_remote_record(*folder_at(clone_path),
                                 {.volume = uuid, .where = {.address = "s3://bucket"}, .position = {}}));
  std::uint64_t before = reads_of_containers_;

  ReclaimedVolume clone(clone_path, kept, disk());
  auto evictor = ContainerEvictor::start(clone.volume(), 64 << 20);
  ASSERT_TRUE(evictor) << evictor.error().message();
  // The last containers are looked through, as after a crash. Without its key, nobody has fetched what that reads.
  if (is_encrypted()) before = reads_of_containers_;
  ASSERT_TRUE(clone.volume().containers().list());
  EXPECT_EQ(reads_of_containers_, before) << "a look at all containers";
  if (!is_encrypted()) {
    const auto again = clone.put(chunks(100, 130));
    for (const ChunkId id : again) EXPECT_TRUE(kept.contains(id)) << number_of(id);
    ASSERT_TRUE(clone.commit());
    ASSERT_TRUE(clone.reclaim());
    EXPECT_EQ(reads_of_containers_, before) << "duplicates, and a reclaim that has nothing to do";
  }

  for (const auto& [id, chunk] : kept) {
    const auto bytes = clone.volume().chunks().get(id);
    ASSERT_TRUE(bytes) << bytes.error().message();
    ASSERT_EQ(text_of(bytes->bytes), text_of(chunk));
  }
  EXPECT_TRUE(is_encrypted() || reads_of_containers_ > before) << "content is in the bucket";
}

TEST_P(ContainerEvictorTest, WithoutItsBucketAVolumeIsNotOpened) {
  fill(0);
  evict_all();
  volume_.reset();

  const auto opened = Volume::open(path(), {}, is_encrypted() ? RotatedVolume::backing() : Backing::posix());

  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(opened.error().message(), HasSubstr("bucket"));
}

TEST_P(ContainerEvictorTest, ANewDeltaNeedsNothingFromTheBucket) {
  if (is_encrypted()) return;
  volume_.reset();
  std::filesystem::remove_all(plain_);
  create_plain("odess");
  open_attached();
  fill(0);
  evict_all();
  reopen();
  const std::uint64_t calls_before = bucket_.calls();

  std::vector<ByteBuffer> alike = chunks(0, 30);
  for (ByteBuffer& each : alike) each[777] ^= 1;
  volume_->keep(alike);
  ASSERT_TRUE(volume_->commit());

  EXPECT_EQ(bucket_.calls(), calls_before);
  expect_all();
}

}  // namespace
}  // namespace dedupfs
