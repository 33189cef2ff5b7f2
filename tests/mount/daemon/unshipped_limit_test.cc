#include "mount/daemon/unshipped_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "fs/test_filesystem.h"
#include "replica/clone.h"
#include "replica/remote_file.h"
#include "support/memory_bucket.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::uint64_t kLimit = 4 << 20;
constexpr std::uint64_t kPartBytes = 256 << 10;

// A volume that is shipped when somebody wants room, and at the end.
class UnshippedLimitTest : public testing::Test {
 protected:
  UnshippedLimitTest() {
    bucket_.set_fault([this](const MemoryBucket::Call&) {
      return is_away_ ? MemoryBucket::Fault::kFails : MemoryBucket::Fault::kNone;
    });
    RemoteRecord record{.volume = fs_->volume().superblock().uuid, .where = {.address = "s3://bucket"}, .position = {}};
    record.position = Shipper::attach(bucket_, "test").value();
    EXPECT_TRUE(save_remote_record(*Backing::posix()->open_root(fs_.path()).value(), record));
  }
  ~UnshippedLimitTest() override {
    shipper_.reset();
    EXPECT_TRUE(fs_->close());
  }

  void limit(std::chrono::milliseconds longest_wait = 1h) {
    auto started =
        BackgroundShipper::start(fs_->volume(), [this] { return fs_->sync_what_fits(); },
                                 {.lag = 0ms,
                                  .most_lacking_bytes = kLimit,
                                  .retry = 1ms,
                                  .open = [this](const RemoteAddress&, const GoOn&) -> Result<std::unique_ptr<Bucket>> {
                                    return std::make_unique<SameBucket>(bucket_);
                                  },
                                  .when_fenced = [this](const Error& error) { fs_->end_changes(error); }});
    ASSERT_TRUE(started) << started.error().message();
    shipper_ = std::move(*started);
    limit_unshipped(*fs_, *shipper_, 8, longest_wait);
  }
  // A further part of a file that no other one is like.
  Result<void> write_part(const std::function<bool()>& cancelled = nullptr) {
    const std::string part = random_text(kPartBytes, static_cast<unsigned>(content_.size() / kPartBytes) + 1);
    auto written = fs_->write(file_, content_.size(), bytes_of(part), {}, cancelled);
    if (written) content_ += part;
    return written;
  }
  // Bytes that were taken until one was not.
  std::uint64_t write_until_refused() {
    const std::size_t before = content_.size();
    for (;;) {
      const auto written = write_part();
      if (written) continue;
      EXPECT_EQ(written.error().code(), ErrorCode::kNoSpace) << written.error().message();
      return content_.size() - before;
    }
  }
  void expect_bucket_gives_all() {
    const TempDir folder;
    const Path path = folder.path() / "clone";
    std::filesystem::create_directory(path);
    const auto shipped = shipper_->ship_now([] { return Result<void>(); });
    ASSERT_TRUE(shipped) << shipped.error().message();
    ASSERT_TRUE(clone_replica(bucket_, *load_replica(bucket_).value(), *Backing::posix()->open_root(path).value(), {}));
    VolumeOptions options;
    options.read_only = true;
    options.index_memory_bytes = 32 << 20;
    auto clone = Filesystem::open(Volume::open(path, options).value(), TestFilesystem::quiet()).value();
    std::string found;
    const auto pieces = clone->read(file_, 0, content_.size()).value();
    for (const PinnedBytes& piece : pieces) found += text_of(piece.bytes);
    EXPECT_TRUE(found == content_);
  }

  TestFilesystem fs_;
  std::atomic<bool> is_away_ = false;
  MemoryBucket bucket_;
  std::unique_ptr<BackgroundShipper> shipper_;
  const InodeNumber file_ = fs_.make_file(kRootInode, "file");
  std::string content_;
};

TEST_F(UnshippedLimitTest, AStoreThatTakesItLetsWritersGoOn) {
  limit();
  while (content_.size() < 8 * kLimit) ASSERT_TRUE(ok(write_part()));
  EXPECT_FALSE(shipper_->status().are_writers_refused);
  EXPECT_GT(shipper_->status().sequence, 2U) << "nobody asked for it but the writer";
  expect_bucket_gives_all();
}

TEST_F(UnshippedLimitTest, WithoutTheStoreWritersAreRefusedAndEverythingElseGoesOn) {
  const InodeNumber other = fs_.make_file(kRootInode, "other", "other content");
  limit(100ms);
  ASSERT_TRUE(shipper_->ship_now([] { return Result<void>(); }));
  is_away_ = true;

  const std::uint64_t taken = write_until_refused();

  EXPECT_GE(taken, kLimit / 2);
  EXPECT_LE(taken, kLimit);
  const auto status = shipper_->status();
  EXPECT_TRUE(status.are_writers_refused);
  EXPECT_EQ(status.most_lacking_bytes, kLimit);
  EXPECT_EQ(status.waiting_writers, 0U);
  EXPECT_LE(status.lacking_bytes, kLimit + (64 << 10));
  const auto refused = write_part();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), testing::AllOf(HasSubstr("remote_unshipped"), HasSubstr("told to fail")));
  EXPECT_TRUE(fs_.content(file_) == content_);
  EXPECT_EQ(fs_.content(other), "other content");
  EXPECT_TRUE(ok(fs_->unlink(kRootInode, "other")));
  EXPECT_TRUE(ok(fs_->sync()));
}

TEST_F(UnshippedLimitTest, WhenTheStoreIsBackWritersGoOnByThemselves) {
  limit(100ms);
  is_away_ = true;
  write_until_refused();
  is_away_ = false;

  while (shipper_->status().are_writers_refused) std::this_thread::yield();  // though nobody writes

  while (content_.size() < 2 * kLimit) ASSERT_TRUE(ok(write_part()));
  expect_bucket_gives_all();
}

TEST_F(UnshippedLimitTest, AWriterThatWaitsGoesOnWhenTheStoreIsBack) {
  limit();
  is_away_ = true;
  auto writing = std::async(std::launch::async, [&]() -> Result<void> {
    while (content_.size() < 2 * kLimit) DEDUPFS_TRY(write_part());
    return {};
  });
  while (shipper_->status().waiting_writers == 0) std::this_thread::yield();

  is_away_ = false;

  EXPECT_TRUE(ok(writing.get()));
  EXPECT_EQ(shipper_->status().waiting_writers, 0U);
  expect_bucket_gives_all();
}

TEST_F(UnshippedLimitTest, WhoIsInterruptedOrUnmountsDoesNotWait) {
  limit();
  is_away_ = true;
  std::atomic<bool> cancelled = false;
  auto writing = std::async(std::launch::async, [&]() -> Result<void> {
    for (;;) DEDUPFS_TRY(write_part([&] { return cancelled.load(); }));
  });
  while (shipper_->status().waiting_writers == 0) std::this_thread::yield();
  EXPECT_TRUE(fails_with(ErrorCode::kBusy, fs_->check_no_writer_waits())) << "a rollback would wait for him";
  cancelled = true;
  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, writing.get()));
  EXPECT_TRUE(ok(fs_->check_no_writer_waits()));

  fs_->give_up_waiting();

  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, write_part()));
}

TEST_F(UnshippedLimitTest, WhoWaitsLearnsThatAnotherMachineWritesThere) {
  limit();
  is_away_ = true;
  auto writing = std::async(std::launch::async, [&]() -> Result<void> {
    for (;;) DEDUPFS_TRY(write_part());
  });
  while (shipper_->status().waiting_writers == 0) std::this_thread::yield();

  fs_->end_changes(Error{kFenced, "another machine writes there"});

  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, writing.get()));
}

TEST_F(UnshippedLimitTest, TheNextMountCountsWhatWasLackingBefore) {
  limit(100ms);
  ASSERT_TRUE(ok(write_part()));
  ASSERT_TRUE(shipper_->ship_now([] { return Result<void>(); }));
  is_away_ = true;
  while (content_.size() < kPartBytes + kLimit / 2) ASSERT_TRUE(ok(write_part()));
  shipper_.reset();
  fs_.reopen();
  limit(100ms);

  EXPECT_LE(write_until_refused(), kLimit / 2);

  EXPECT_GE(shipper_->status().lacking_bytes, kLimit / 2);
}

TEST_F(UnshippedLimitTest, WhatIsThereBeforeTheFirstShipDoesNotCount) {
  while (content_.size() < 2 * kLimit) ASSERT_TRUE(ok(write_part()));
  fs_.reopen();
  limit(100ms);
  is_away_ = true;

  EXPECT_GE(write_until_refused(), kLimit / 2);

  EXPECT_GE(shipper_->status().lacking_bytes, 2 * kLimit) << "but it is shown";
}

TEST_F(UnshippedLimitTest, DuplicatesTakeNoRoom) {
  limit(100ms);
  while (content_.size() < kLimit / 2) ASSERT_TRUE(ok(write_part()));
  is_away_ = true;

  for (std::uint64_t copies = 1; copies <= 8; ++copies)
    for (std::uint64_t offset = 0; offset < kLimit / 2; offset += kPartBytes)
      ASSERT_TRUE(ok(fs_->write(file_, copies * kLimit / 2 + offset, bytes_of(content_).subspan(offset, kPartBytes), {},
                                nullptr)));
}

}  // namespace
}  // namespace dedupfs
