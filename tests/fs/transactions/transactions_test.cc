#include "fs/transactions/transactions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fs/faulty_filesystem.h"
#include "fs/test_filesystem.h"
#include "store/volume/volume.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using namespace std::chrono_literals;

// Notes what it is asked to do.
struct FakeGroupSource final : GroupSource {
  bool has_changes() const override { return false; }
  std::uint64_t waiting_bytes() const override { return 1000; }
  void store() override { calls.emplace_back("store"); }
  std::optional<Error> store_error() const override { return error; }
  Stopped stop_storing() override {
    calls.emplace_back("stop");
    return nullptr;
  }
  void put_records() override { calls.emplace_back("records"); }
  void put_counters(bool is_last) override { calls.emplace_back(is_last ? "last counters" : "counters"); }

  std::vector<std::string> calls;
  std::optional<Error> error;
};

// Groups of a volume without files, which end only when a test asks for it.
class TransactionsOfVolume : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(ok(transactions_.start(
        {.clean_up = [] { return false; }, .after_commit = [this](bool is_new_state) { commits_ += is_new_state; }})));
    source_.calls.clear();
  }
  void put(const std::string& name) {
    const Transactions::Change change(transactions_);
    volume_->metadata().put(Family::kCounters, name, "value");
  }
  bool is_durable(const std::string& name) {
    return value_of(volume_->database().get(Family::kCounters, name)).has_value();
  }

  TempDir directory_;
  std::unique_ptr<Volume> volume_ = [this] {
    EXPECT_TRUE(Volume::create(directory_.path() / "volume", {}));
    VolumeOptions options;
    options.threads = 1;
    return value_of(Volume::open(directory_.path() / "volume", options));
  }();
  Writability writability_{/*read_only=*/false};
  FakeGroupSource source_;
  std::atomic<int> commits_ = 0;
  Transactions transactions_{*volume_, writability_, source_, {.commit_interval = 1h, .group_bytes = 64 << 20}};
};

TEST_F(TransactionsOfVolume, AGroupTakesInContentThenRecordsThenCounters) {
  put("a");
  EXPECT_FALSE(is_durable("a"));

  ASSERT_TRUE(ok(transactions_.sync()));
  EXPECT_TRUE(is_durable("a"));
  EXPECT_EQ(commits_, 1);
  EXPECT_EQ(source_.calls.back(), "counters");
  source_.calls.clear();
  put("b");
  ASSERT_TRUE(ok(transactions_.finish()));

  EXPECT_TRUE(is_durable("b"));
  EXPECT_THAT(source_.calls, ElementsAre("stop", "store", "records", "last counters"));
}

TEST_F(TransactionsOfVolume, WithoutRoomForContentTheGroupStaysOpen) {
  source_.error = Error(ErrorCode::kNoSpace, "full");
  put("a");

  EXPECT_TRUE(fails_with(ErrorCode::kNoSpace, transactions_.sync()));
  EXPECT_FALSE(is_durable("a"));
  EXPECT_TRUE(ok(transactions_.check_writable())) << "there may be room again";

  source_.error.reset();
  EXPECT_TRUE(ok(transactions_.sync()));
  EXPECT_TRUE(is_durable("a"));
}

TEST_F(TransactionsOfVolume, AFileThatCannotBeStoredDoesNotHoldUpTheRest) {
  source_.error = Error(ErrorCode::kCorruption, "a chunk is damaged");
  put("a");

  EXPECT_TRUE(ok(transactions_.sync()));

  EXPECT_TRUE(is_durable("a"));
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, transactions_.check_stored()));
}

// It needs something from a bucket that does not answer, and is written when that comes.
TEST_F(TransactionsOfVolume, AFileThatWaitsKeepsTheGroupOpen) {
  source_.error = Error(ErrorCode::kBusy, "the store does not answer");
  put("a");

  EXPECT_TRUE(fails_with(ErrorCode::kBusy, transactions_.sync()));
  EXPECT_FALSE(is_durable("a"));
  source_.error.reset();

  EXPECT_TRUE(ok(transactions_.sync()));
  EXPECT_TRUE(is_durable("a"));
}

TEST_F(TransactionsOfVolume, ATaskRunsAtTheEndOfAGroupAndIsPartOfIt) {
  bool has_ended = false;
  put("a");

  const Transactions::AtEnd end = transactions_.sync_with({.change = [&]() -> Result<void> {
                                                             volume_->metadata().put(Family::kCounters, "task", "");
                                                             return {};
                                                           },
                                                           .ended = [&] { has_ended = true; }});

  EXPECT_TRUE(ok(end.synced));
  ASSERT_TRUE(end.done);
  EXPECT_TRUE(ok(*end.done));
  EXPECT_TRUE(has_ended);
  EXPECT_TRUE(is_durable("a"));
  EXPECT_TRUE(is_durable("task"));
}

TEST_F(TransactionsOfVolume, ATaskThatFailsIsToldAndTheGroupEndsAllTheSame) {
  put("a");

  const Transactions::AtEnd end = transactions_.sync_with({.change = [] {
    return Result<void>(Error{ErrorCode::kExists, "it is there"});
  }});

  EXPECT_TRUE(ok(end.synced));
  ASSERT_TRUE(end.done);
  EXPECT_TRUE(fails_with(ErrorCode::kExists, *end.done));
  EXPECT_TRUE(is_durable("a"));
}

TEST_F(TransactionsOfVolume, WhatAnExceptionEndsHalfwayIsNeverCommitted) {
  const auto fail_after = [&](const std::function<void()>& change) {
    try {
      const Transactions::Change scope(transactions_);
      change();
      throw std::bad_alloc();
    } catch (const std::bad_alloc&) {
    }
  };

  fail_after([] {});
  EXPECT_TRUE(ok(transactions_.check_writable())) << "nothing had changed";
  fail_after([&] { volume_->metadata().put(Family::kCounters, "half", "value"); });

  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, transactions_.check_writable()));
  EXPECT_TRUE(fails_with(ErrorCode::kIo, transactions_.sync()));
  EXPECT_FALSE(is_durable("half"));
}

TEST_F(TransactionsOfVolume, WhatWaitsInMemoryWillNeedRoom) {
  const std::uint64_t before = transactions_.pending_bytes();
  EXPECT_GE(before, source_.waiting_bytes());

  put("a");

  EXPECT_GT(transactions_.pending_bytes(), before);
}

TEST(Transactions, ACrashLeavesTheStateOfTheLastSync) {
  TestFilesystem fs;
  const std::string content = random_text(500'000, 5);
  const InodeNumber file = fs.make_file(kRootInode, "kept", content);
  ASSERT_TRUE(ok(fs->sync()));
  fs.write(file, 1000, "changed");
  fs.make_file(kRootInode, "lost", random_text(500'000, 6));
  ASSERT_TRUE(ok(fs->unlink(kRootInode, "kept")));

  const auto crashed = fs.after_crash();

  EXPECT_THAT(crashed->names(kRootInode), ElementsAre(".", "..", "kept"));
  EXPECT_EQ(crashed->content(file), content);
  EXPECT_GT(crashed->make_file(kRootInode, "new"), value_of(fs.find("lost")));  // no number is used twice
}

TEST(Transactions, ChangesAreDurableAfterTheInterval) {
  FilesystemOptions options;
  options.commit_interval = std::chrono::milliseconds(50);
  TestFilesystem fs(options);
  fs.make_file(kRootInode, "a", "text");

  for (int i = 0; i < 200 && fs->dirty_bytes() != 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));

  EXPECT_EQ(fs->dirty_bytes(), 0U);
  EXPECT_EQ(fs.after_crash()->content(value_of(fs.find("a"))), "text");
}

TEST(Transactions, AFailedFsyncOfAContainerMakesTheVolumeReadOnlyForGood) {
  FaultyFilesystem faulty;
  TestFilesystem& fs = faulty.fs;
  const InodeNumber kept = fs.make_file(kRootInode, "kept", "text");
  ASSERT_TRUE(ok(fs->sync()));
  const InodeNumber file = fs.make_file(kRootInode, "f", random_text(400'000, 8));
  faulty.fail("datasync", ErrorCode::kIo);

  EXPECT_TRUE(fails_with(ErrorCode::kIo, fs->sync()));
  faulty.fail("datasync", std::nullopt);

  EXPECT_TRUE(fails_with(ErrorCode::kIo, fs->sync()));
  EXPECT_TRUE(fails_with(ErrorCode::kIo, fs->sync_file(file)));
  EXPECT_TRUE(fails_with(ErrorCode::kIo, fs->flush_file(file))) << "close(2) tells, too";
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs->create(kRootInode, "new", 0644, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs->write(kept, 0, bytes_of("x"), {}, nullptr)));
  EXPECT_EQ(fs.content(kept), "text");
  EXPECT_TRUE(fails_with(ErrorCode::kIo, fs->close()));
  EXPECT_THAT(fs.after_crash()->names(kRootInode), ElementsAre(".", "..", "kept"));
}

}  // namespace
}  // namespace dedupfs
