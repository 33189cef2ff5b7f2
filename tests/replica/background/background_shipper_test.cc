#include "replica/background/background_shipper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "../fake_image.h"
#include "replica/replica_check.h"
#include "store/reclaimed_volume.h"
#include "support/memory_bucket.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

class BackgroundShipperTest : public testing::Test {
 protected:
  BackgroundShipperTest() {
    RemoteRecord record{
        .volume = volume_.volume().superblock().uuid, .where = {.address = "s3://bucket"}, .position = {}};
    record.position = Shipper::attach(bucket_, "test").value();
    EXPECT_TRUE(save_remote_record(*folder_at(volume_.path()), record));
  }
  // By default it never ships by itself.
  std::unique_ptr<BackgroundShipper> start(std::chrono::milliseconds lag = std::chrono::hours(1)) {
    auto started =
        BackgroundShipper::start(volume_.volume(),
                                 [this] {
                                   const std::lock_guard lock(volume_mutex_);
                                   return volume_.commit();
                                 },
                                 {.lag = lag,
                                  .open = [this](const RemoteAddress&, const GoOn&) -> Result<std::unique_ptr<Bucket>> {
                                    return std::make_unique<SameBucket>(bucket_);
                                  },
                                  .when_fenced = [this](const Error& error) { fences_.push_back(error.message()); }});
    EXPECT_TRUE(started) << started.error().message();
    return std::move(*started);
  }
  static GoOn always() {
    return [] { return Result<void>(); };
  }
  // Of a clone.
  void expect_bucket_gives(const ReclaimedVolume::References& kept) {
    const TempDir folder;
    const Path path = folder.path() / "clone";
    std::filesystem::create_directory(path);
    ASSERT_TRUE(clone_replica(bucket_, *load_replica(bucket_).value(), *folder_at(path), {}));
    ReclaimedVolume clone(path, kept);
    clone.expect_kept_for_good();
  }

  ReclaimedVolume volume_;
  std::mutex volume_mutex_;
  MemoryBucket bucket_;
  std::vector<std::string> fences_;
};

TEST_F(BackgroundShipperTest, ShipsWhatWasWrittenBeforeItIsAsked) {
  const auto shipper = start();
  volume_.keep(chunks(0, 5));

  const auto shipped = shipper->ship_now(always());

  ASSERT_TRUE(shipped) << shipped.error().message();
  EXPECT_EQ(shipped->sequence, 1u);
  EXPECT_EQ(shipper->status().lacking_bytes, 0u);
  EXPECT_EQ(shipper->status().sequence, 1u);
  EXPECT_TRUE(shipper->status().shipped);
  EXPECT_GT(shipper->status().requests[BucketRequest::kPut], shipped->objects) << "the objects and the head";
  expect_bucket_gives(volume_.kept());
}

TEST_F(BackgroundShipperTest, SaysWhatTheBucketLacks) {
  const auto shipper = start();
  ASSERT_TRUE(shipper->ship_now(always()));
  volume_.keep(chunks(0, 5));
  ASSERT_TRUE(volume_.commit());

  EXPECT_GE(shipper->status().lacking_bytes, 5 * kChunkBytes);
  EXPECT_LT(shipper->status().lacking_bytes, 6 * kChunkBytes);
}

TEST_F(BackgroundShipperTest, ShipsByItself) {
  std::mutex mutex;
  std::condition_variable changed;
  bool has_head = false;
  bucket_.set_hook([&](const MemoryBucket::Call& call, MemoryBucket::When when) {
    if (call.operation != MemoryBucket::Operation::kPut || call.object != head_object(1) ||
        when != MemoryBucket::When::kAfter)
      return;
    const std::lock_guard lock(mutex);
    has_head = true;
    changed.notify_all();
  });
  volume_.keep(chunks(0, 5));
  ASSERT_TRUE(volume_.commit());

  const auto shipper = start(std::chrono::milliseconds(1));

  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return has_head; }));
}

TEST_F(BackgroundShipperTest, AFailureIsShownUntilItSucceeds) {
  const auto shipper = start();
  bucket_.set_fault([](const MemoryBucket::Call&) { return MemoryBucket::Fault::kFails; });
  EXPECT_FALSE(shipper->ship_now(always()));
  ASSERT_TRUE(shipper->status().failure);
  EXPECT_THAT(*shipper->status().failure, HasSubstr("told to fail"));
  bucket_.set_fault({});

  EXPECT_TRUE(shipper->ship_now(always()));

  EXPECT_FALSE(shipper->status().failure);
}

TEST_F(BackgroundShipperTest, OneThatIsFencedStopsAndTheVolumeGoesOn) {
  const auto shipper = start();
  ASSERT_TRUE(shipper->ship_now(always()));
  const auto replica = load_replica(bucket_).value();
  Writer other(bucket_, {.head = RemotePosition::Known{.sequence = 1, .sha256 = replica->sha256}});
  Shipper::Settings settings = other.settings();
  settings.volume = replica->head.volume;
  ASSERT_TRUE(Shipper::take_over(bucket_, other.saved, "other", settings));
  volume_.keep(chunks(0, 5));

  const auto shipped = shipper->ship_now(always());

  ASSERT_FALSE(shipped);
  EXPECT_EQ(shipped.error().code(), kFenced);
  EXPECT_TRUE(shipper->status().is_fenced);
  EXPECT_FALSE(shipper->ship_now(always()));
  EXPECT_THAT(fences_, testing::ElementsAre(HasSubstr("another machine"))) << "once";
  const auto awaited = shipper->await_shipped();
  ASSERT_FALSE(awaited);
  EXPECT_EQ(awaited.error().code(), ErrorCode::kReadOnly);
  volume_.expect_kept();
}

TEST_F(BackgroundShipperTest, ACopyThatDoesNotWriteThereHasNone) {
  const auto folder = folder_at(volume_.path());
  RemoteRecord record = load_remote_record(*folder, volume_.volume().superblock().uuid).value();
  record.position.epoch = 0;
  ASSERT_TRUE(save_remote_record(*folder, record));

  EXPECT_EQ(start(), nullptr);
  std::filesystem::remove(volume_.path() / kRemoteFile);
  EXPECT_EQ(start(), nullptr);
}

TEST_F(BackgroundShipperTest, WhoAwaitsAShipHasEverythingInTheBucket) {
  const auto shipper = start();
  volume_.keep(chunks(0, 5));
  ASSERT_TRUE(volume_.commit());

  const auto shipped = shipper->await_shipped();

  ASSERT_TRUE(shipped) << shipped.error().message();
  expect_bucket_gives(volume_.kept());
}

TEST_F(BackgroundShipperTest, ThoseWhoWaitTogetherShareAShip) {
  const auto shipper = start();
  std::promise<void> first_began, all_wait;
  std::atomic<int> heads = 0;
  bucket_.set_hook([&](const MemoryBucket::Call& call, MemoryBucket::When when) {
    if (call.operation != MemoryBucket::Operation::kPut || !call.object.starts_with("head/") ||
        when != MemoryBucket::When::kBefore)
      return;
    if (++heads != 1) return;
    first_began.set_value();
    all_wait.get_future().wait();
  });
  volume_.keep(chunks(0, 5));
  ASSERT_TRUE(volume_.commit());
  auto first = std::async(std::launch::async, [&] { return shipper->await_shipped(); });
  first_began.get_future().wait();
  volume_.keep(chunks(5, 10));
  ASSERT_TRUE(volume_.commit());
  std::vector<std::future<Result<void>>> later;
  for (int i = 0; i < 10; ++i)
    later.push_back(std::async(std::launch::async, [&] { return shipper->await_shipped(); }));
  for (const auto& waiting : later)
    EXPECT_EQ(waiting.wait_for(std::chrono::seconds(0)), std::future_status::timeout) << "not by the one that runs";
  all_wait.set_value();

  EXPECT_TRUE(first.get());
  for (auto& waiting : later) EXPECT_TRUE(waiting.get());

  EXPECT_LT(heads, 6);
  bucket_.set_hook({});
  expect_bucket_gives(volume_.kept());
}

TEST_F(BackgroundShipperTest, WhoAwaitsAShipIsToldThatItFailed) {
  const auto shipper = start();
  bucket_.set_fault([](const MemoryBucket::Call&) { return MemoryBucket::Fault::kFails; });
  volume_.keep(chunks(0, 5));
  ASSERT_TRUE(volume_.commit());

  const auto failed = shipper->await_shipped();

  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message(), HasSubstr("told to fail"));
  bucket_.set_fault({});
  EXPECT_TRUE(shipper->await_shipped()) << "a later one has it";
}

TEST_F(BackgroundShipperTest, NobodyAwaitsAShipForEver) {
  const auto shipper = start();
  std::promise<void> began, stopped;
  bucket_.set_hook([&, is_first = true](const MemoryBucket::Call&, MemoryBucket::When) mutable {
    if (!std::exchange(is_first, false)) return;
    began.set_value();
    stopped.get_future().wait();
  });
  auto waiting = std::async(std::launch::async, [&] { return shipper->await_shipped(); });
  began.get_future().wait();
  auto stopping = std::async(std::launch::async, [&] { shipper->stop(); });
  const auto outcome = waiting.get();
  stopped.set_value();
  stopping.get();

  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::kInterrupted);
  EXPECT_FALSE(shipper->await_shipped()) << "after the end, too";
}

TEST_F(BackgroundShipperTest, WhoAsksCanStopIt) {
  const auto shipper = start();

  const auto shipped = shipper->ship_now([]() -> Result<void> { return Error{ErrorCode::kInterrupted, "enough"}; });

  ASSERT_FALSE(shipped);
  EXPECT_EQ(shipped.error().code(), ErrorCode::kInterrupted);
  EXPECT_FALSE(shipper->status().failure);
}

TEST_F(BackgroundShipperTest, WhoAsksForAGraceHasDroppedObjectsDeletedAtOnce) {
  const auto shipper = start(std::chrono::hours(1));
  ASSERT_TRUE(shipper->ship_now(always()));  // and deletes what there is to delete, for the next hour
  volume_.keep(chunks(0, 5));
  ASSERT_TRUE(shipper->ship_now(always()));
  const std::size_t before = bucket_.objects().names().size();
  volume_.keep(chunks(5, 9));
  ASSERT_TRUE(shipper->ship_now(always()));
  ASSERT_GT(bucket_.objects().names().size(), before) << "nothing is deleted yet";
  const auto with_dropped = bucket_.objects().names();

  const std::uint64_t awaited = shipper->ship_soon(std::chrono::hours(0));
  while (shipper->status().tries < awaited) std::this_thread::yield();

  const auto now = bucket_.objects().names();
  EXPECT_TRUE(std::ranges::any_of(with_dropped,
                                  [&](const std::string& name) { return std::ranges::find(now, name) == now.end(); }));
}

// `dedupfs-remote push --grace 0` again and again, while others ship. Whatever comes in between, the newest head has all that it names.
TEST_F(BackgroundShipperTest, DeletingAtOnceBesideAShipTakesNothingThatAHeadNames) {
  std::atomic<bool> is_whole = true;
  std::atomic<int> removed = 0;
  bucket_.set_hook([&](const MemoryBucket::Call& call, MemoryBucket::When when) {
    if (when != MemoryBucket::When::kAfter || call.operation != MemoryBucket::Operation::kRemove) return;
    ++removed;
    MemoryBucket now(std::make_shared<MemoryObjects>(bucket_.objects().image()));
    const auto replica = load_replica(now);
    const auto check = replica && *replica ? check_replica(now, **replica, {}) : Result<ReplicaCheck>(ReplicaCheck());
    if (!replica || !check || check->bad != 0) is_whole = false;
  });
  const auto shipper = start(std::chrono::milliseconds(1));
  std::atomic<bool> is_over = false;
  std::thread asks([&] {
    while (!is_over) {
      const std::uint64_t awaited = shipper->ship_soon(std::chrono::hours(0));
      while (!is_over && shipper->status().tries < awaited) std::this_thread::yield();
    }
  });
  for (std::uint64_t i = 0; i < 30; ++i) {
    {
      const std::lock_guard lock(volume_mutex_);
      volume_.keep(chunks(i * 10, i * 10 + 10));
    }
    EXPECT_TRUE(shipper->await_shipped());
  }
  is_over = true;
  asks.join();

  EXPECT_GT(removed, 20);
  EXPECT_TRUE(is_whole);
  expect_bucket_gives(volume_.kept());
}

}  // namespace
}  // namespace dedupfs
