#include "fs/background/checkpointer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "fs/namespace/filesystem.h"
#include "support/crash_copy.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

constexpr Caller kRoot{};
const Checkpoints::GoesOn kToTheEnd = [](std::uint64_t) { return true; };

class CheckpointerTest : public ::testing::Test {
 protected:
  CheckpointerTest() { EXPECT_TRUE(Volume::create(path_, VolumeSettings())); }

  void mount(std::chrono::milliseconds interval) {
    VolumeOptions volume_options;
    FilesystemOptions options;
    options.checkpoint_interval = interval;
    auto volume = Volume::open(path_, volume_options);
    ASSERT_TRUE(volume);
    filesystem_ = std::move(*Filesystem::open(std::move(*volume), options));
  }
  void unmount() { filesystem_.reset(); }
  void create(const char* name) { ASSERT_TRUE(filesystem_->create(kRootInode, name, S_IFREG | 0644, kRoot)); }

  // The number of the newest checkpoint, 0 without one.
  std::uint32_t newest() const {
    const auto files = Checkpoints(folder_at(path_), UuidBytes{}).list();
    return files && !files->empty() ? files->front().number : 0;
  }
  bool has_name(const std::string& name) const {
    std::vector<Error> damage;
    const auto superblock = read_superblock(*folder_at(path_));
    const auto checkpoint = Checkpoints(folder_at(path_), *parse_uuid(superblock->uuid)).newest(damage);
    if (!checkpoint || !*checkpoint) return false;  // it went while we looked
    bool found = false;
    EXPECT_TRUE((*checkpoint)->walk(Family::kDirents, [&](std::string_view key, std::string_view) {
      found = found || key.ends_with(name);
      return true;
    }));
    return found;
  }

  TempDir dir_;
  const Path path_ = dir_.path() / "volume";
  std::unique_ptr<Filesystem> filesystem_;
};

TEST_F(CheckpointerTest, TakesOneAtTheEndOfAMountThatChangedSomething) {
  mount(std::chrono::hours(1));
  create("kept");
  EXPECT_EQ(newest(), 0U);
  unmount();
  EXPECT_EQ(newest(), 1U);
  EXPECT_TRUE(has_name("kept"));

  mount(std::chrono::hours(1));
  unmount();
  EXPECT_EQ(newest(), 1U);
}

TEST_F(CheckpointerTest, TakesOneNowAndThenWhereSomethingWasCommitted) {
  mount(std::chrono::milliseconds(10));
  create("first");
  ASSERT_TRUE(filesystem_->sync());
  while (!has_name("first")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  create("second");
  ASSERT_TRUE(filesystem_->sync());
  while (!has_name("second")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST_F(CheckpointerTest, TakesNoneWhereNoneAreWanted) {
  mount(std::chrono::milliseconds(0));
  create("name");
  unmount();
  EXPECT_EQ(newest(), 0U);
}

TEST_F(CheckpointerTest, TakesNoRoomThatIsNotThereAndSaysSo) {
  auto volume = std::move(*Volume::open(path_, VolumeOptions()));
  Checkpointer checkpointer(*volume, std::chrono::hours(1), [](std::uint64_t) { return false; });
  checkpointer.note_commit();

  const auto finished = checkpointer.finish(kToTheEnd);

  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code(), ErrorCode::kNoSpace);
  EXPECT_EQ(newest(), 0U);
}

TEST_F(CheckpointerTest, TheLastOneIsFinishedHoweverLongItTakes) {
  mount(std::chrono::hours(1));
  create("name");
  int asked = 0;
  ASSERT_TRUE(filesystem_->close([&](std::uint64_t) {
    ++asked;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return true;
  }));

  EXPECT_GT(asked, 0);
  EXPECT_FALSE(filesystem_->missing_checkpoint());
  EXPECT_TRUE(has_name("name"));
}

TEST_F(CheckpointerTest, OneThatHasNoTimeIsReportedAndTheNextMountTakesIt) {
  mount(std::chrono::hours(1));
  create("name");
  ASSERT_TRUE(filesystem_->close([](std::uint64_t) { return false; }));
  ASSERT_TRUE(filesystem_->missing_checkpoint());
  EXPECT_EQ(filesystem_->missing_checkpoint()->code(), ErrorCode::kInterrupted);
  unmount();
  EXPECT_EQ(newest(), 0U);

  mount(std::chrono::hours(1));
  unmount();

  EXPECT_TRUE(has_name("name"));
}

TEST_F(CheckpointerTest, WhatACrashKeptFromACheckpointIsInThatOfTheNextMount) {
  mount(std::chrono::hours(1));
  create("first");
  unmount();
  mount(std::chrono::hours(1));
  create("second");
  ASSERT_TRUE(filesystem_->sync());
  const Path crashed = dir_.path() / "crashed";
  crash_copy(path_, crashed);
  unmount();
  std::filesystem::remove_all(path_);
  std::filesystem::rename(crashed, path_);
  EXPECT_FALSE(has_name("second"));

  mount(std::chrono::hours(1));
  unmount();

  EXPECT_TRUE(has_name("second"));
}

}  // namespace
}  // namespace dedupfs
