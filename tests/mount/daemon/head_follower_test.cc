#include "mount/daemon/head_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fs/test_filesystem.h"
#include "support/crash_copy.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using std::chrono::milliseconds;

// A volume that is written, and a mount of the states that it had.
class HeadFollowerTest : public testing::Test {
 protected:
  HeadFollowerTest() { EXPECT_EQ(file_, written_.make_file(kRootInode, "file", "old")); }

  // The state that the volume has now, opened to be read.
  Result<std::unique_ptr<Filesystem>> open_state() {
    EXPECT_TRUE(written_->sync());
    const std::filesystem::path path = states_.path() / std::to_string(++states_made_);
    crash_copy(written_.path(), path);
    VolumeOptions options;
    options.read_only = true;
    options.index_memory_bytes = 32 << 20;
    DEDUPFS_ASSIGN(auto volume, Volume::open(path, options));
    return Filesystem::open(std::move(volume), TestFilesystem::quiet());
  }
  void follow() {
    auto first = open_state().value();
    MountOptions options;
    options.remote_follow = std::chrono::seconds(1);
    mount_.emplace(*first, options);
    follower_ = std::make_unique<HeadFollower>(*mount_, std::move(first),
                                               HeadFollower::Settings{.interval = milliseconds(1),
                                                                      .renew = [this]() -> Result<bool> {
                                                                        ++looks_;
                                                                        if (refusal_) return *refusal_;
                                                                        return is_newer_.exchange(false);
                                                                      },
                                                                      .open = [this] { return open_(); }});
  }
  void await_looks(int more) {
    for (const int until = looks_ + more; looks_ < until;) std::this_thread::yield();
  }
  // Until the mount shows something else.
  void publish() {
    const Filesystem* const before = mount_->hold_filesystem().get();
    is_newer_ = true;
    while (mount_->hold_filesystem().get() == before) std::this_thread::yield();
  }
  std::string shown_content() {
    const QuiesceGate::Pass pass(mount_->requests());
    const auto attributes = mount_->filesystem().attributes(file_);
    if (!attributes) return attributes.error().message();
    std::string content;
    const auto pieces = mount_->filesystem().read(file_, 0, attributes->size).value();
    for (const PinnedBytes& piece : pieces) content += text_of(piece.bytes);
    return content;
  }

  TempDir states_;
  int states_made_ = 0;
  TestFilesystem written_;
  const InodeNumber file_ = kRootInode + 1;
  std::atomic<int> looks_ = 0;
  std::atomic<bool> is_newer_ = false;
  std::optional<Error> refusal_;  // before follow()
  std::function<Result<std::unique_ptr<Filesystem>>()> open_ = [this] { return open_state(); };
  std::optional<FuseMount> mount_;
  std::unique_ptr<HeadFollower> follower_;  // goes first
};

TEST_F(HeadFollowerTest, ShowsANewerStateAndNoOtherOne) {
  follow();
  EXPECT_EQ(shown_content(), "old");
  written_.write(file_, 0, "new");
  await_looks(3);
  EXPECT_EQ(shown_content(), "old") << "nobody said that it is published";

  publish();

  EXPECT_EQ(shown_content(), "new");
}

TEST_F(HeadFollowerTest, OpenFilesAndWhatTheKernelKnowsGoOn) {
  follow();
  {
    const QuiesceGate::Pass pass(mount_->requests());
    EXPECT_EQ(mount_->filesystem().lookup(kRootInode, "file")->inode, file_);
    EXPECT_TRUE(mount_->filesystem().open_file(file_, false, {}));
  }
  written_.write(file_, 3, "er");
  publish();
  EXPECT_EQ(shown_content(), "older");
  const QuiesceGate::Pass pass(mount_->requests());
  mount_->filesystem().release_file(file_, false);
  mount_->filesystem().forget(file_, 1);
}

TEST_F(HeadFollowerTest, AFileThatIsGoneIsStale) {
  follow();
  {
    const QuiesceGate::Pass pass(mount_->requests());
    EXPECT_TRUE(mount_->filesystem().lookup(kRootInode, "file"));
    EXPECT_TRUE(mount_->filesystem().open_file(file_, false, {}));
  }
  ASSERT_TRUE(written_->unlink(kRootInode, "file"));
  written_->forget(file_, 1);
  ASSERT_TRUE(written_.inodes_become(1));
  publish();
  const QuiesceGate::Pass pass(mount_->requests());
  EXPECT_EQ(mount_->filesystem().attributes(file_).error().code(), ErrorCode::kStale);
  EXPECT_EQ(mount_->filesystem().lookup(kRootInode, "file").error().code(), ErrorCode::kNotFound);
  mount_->filesystem().release_file(file_, false);
}

TEST_F(HeadFollowerTest, WhoLooksOutsideOfRequestsKeepsWhatHeLooksAt) {
  follow();
  const auto held = mount_->hold_filesystem();
  publish();
  EXPECT_TRUE(held->space());
}

TEST_F(HeadFollowerTest, AStateThatCannotBeOpenedIsTriedAgain) {
  std::atomic<int> tries = 0;
  open_ = [&]() -> Result<std::unique_ptr<Filesystem>> {
    if (++tries < 3) return Error{ErrorCode::kIo, "the store does not answer"};
    return open_state();
  };
  follow();
  written_.write(file_, 0, "new");
  publish();
  EXPECT_EQ(shown_content(), "new");
  follower_.reset();  // it uses what ends here
  EXPECT_EQ(tries, 3);
}

TEST_F(HeadFollowerTest, AStoreThatDoesNotAnswerLeavesTheOlderState) {
  refusal_ = Error{ErrorCode::kIo, "the store does not answer"};
  follow();
  await_looks(3);
  EXPECT_EQ(shown_content(), "old");
}

TEST_F(HeadFollowerTest, AnotherVolumeIsNotShown) {
  TestFilesystem other;
  std::atomic<int> tries = 0;
  open_ = [&]() -> Result<std::unique_ptr<Filesystem>> {
    ++tries;
    const std::filesystem::path path = states_.path() / ("other" + std::to_string(tries));
    crash_copy(other.path(), path);
    VolumeOptions options;
    options.read_only = true;
    DEDUPFS_ASSIGN(auto volume, Volume::open(path, options));
    return Filesystem::open(std::move(volume), TestFilesystem::quiet());
  };
  follow();
  is_newer_ = true;
  while (tries < 2) std::this_thread::yield();
  EXPECT_EQ(shown_content(), "old");
  follower_.reset();  // it uses what ends here
}

}  // namespace
}  // namespace dedupfs
