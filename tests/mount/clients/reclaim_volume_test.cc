#include "mount/clients/reclaim_volume.h"

#include <gtest/gtest.h>

#include <random>

#include "fs/test_filesystem.h"

namespace dedupfs {
namespace {

constexpr std::size_t kFileBytes = 8 << 20;

std::string noise_of(unsigned seed) {
  std::mt19937 random(seed);
  std::string text(kFileBytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

std::uint64_t container_bytes(const Path& volume) {
  std::uint64_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(volume / "containers"))
    if (file.is_regular_file()) bytes += file.file_size();
  return bytes;
}

// With a file, and the chunks of another that was deleted.
class ReclaimVolumeTest : public testing::Test {
 protected:
  ReclaimVolumeTest() {
    filesystem_.make_file(kRootInode, "kept", noise_of(1));
    const InodeNumber deleted = filesystem_.make_file(kRootInode, "deleted", noise_of(2));
    filesystem_->forget(deleted, 1);
    EXPECT_TRUE(ok(filesystem_->sync()));
    EXPECT_TRUE(ok(filesystem_->unlink(kRootInode, "deleted")));
    EXPECT_TRUE(filesystem_.inodes_become(2));
    filesystem_.close();
  }

  void expect_whole() {
    filesystem_.open();
    EXPECT_EQ(filesystem_.content(value_of(filesystem_.find("kept"))), noise_of(1));
  }

  TestFilesystem filesystem_;
};

TEST_F(ReclaimVolumeTest, GivesBackWhatWasDeletedAndKeepsTheRest) {
  bool was_seen_running = false;

  const auto status =
      reclaim_volume(filesystem_.path(), ReclaimGoal::kFreeSpace, false, [&](const ReclaimStatus& so_far) {
        was_seen_running = so_far.running;
        return true;
      });

  ASSERT_TRUE(ok(status));
  EXPECT_TRUE(was_seen_running);
  ASSERT_TRUE(status->last && !status->last->error);
  EXPECT_GE(status->freed_bytes, kFileBytes);
  EXPECT_LT(container_bytes(filesystem_.path()), kFileBytes * 11 / 10);
  expect_whole();
}

TEST_F(ReclaimVolumeTest, IsStoppedByWhoWatches) {
  const auto status =
      reclaim_volume(filesystem_.path(), ReclaimGoal::kFreeSpace, false, [](const ReclaimStatus&) { return false; });

  ASSERT_TRUE(ok(status));
  ASSERT_TRUE(status->last);
  ASSERT_TRUE(status->last->error) << "it had ended before it could be stopped";
  EXPECT_EQ(status->last->error->code(), ErrorCode::kInterrupted);
  expect_whole();
}

TEST_F(ReclaimVolumeTest, VolumeThatSomebodyElseHasIsRefused) {
  filesystem_.open();

  EXPECT_TRUE(fails_with(ErrorCode::kBusy, reclaim_volume(filesystem_.path(), ReclaimGoal::kFreeSpace, false,
                                                          [](const auto&) { return true; })));
}

}  // namespace
}  // namespace dedupfs
