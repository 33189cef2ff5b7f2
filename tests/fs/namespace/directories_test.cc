// Directory streams: that they end, whatever is added meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test_filesystem.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;

class DirectoryStreamTest : public testing::Test {
 protected:
  // Up to `most` entries behind `cookie`, which goes on behind the last.
  std::vector<std::string> read(std::uint64_t& cookie, std::size_t most = SIZE_MAX) {
    std::vector<std::string> names;
    EXPECT_TRUE(ok(fs_->read_directory(
        kRootInode, cookie, false,
        [&](const DirectoryEntry& entry) {
          if (names.size() == most) return false;
          names.push_back(entry.name);
          cookie = entry.cookie;
          return true;
        },
        &stream_)));
    return names;
  }

  TestFilesystem fs_;
  DirectoryStream stream_;
};

TEST_F(DirectoryStreamTest, EndsWhereTheDirectoryEndedWhenItBegan) {
  for (int i = 0; i < 300; ++i) fs_.make_file(kRootInode, "file" + std::to_string(i));
  std::size_t seen = 0;

  for (std::uint64_t cookie = 0; seen < 1000;) {
    const auto names = read(cookie, 7);
    if (names.empty()) break;
    for (const std::string& name : names) fs_.make_file(kRootInode, "copy" + std::to_string(seen++) + name);
  }

  EXPECT_EQ(seen, 302U);
}

TEST_F(DirectoryStreamTest, ShowsWhatIsNewWhenItIsRewound) {
  fs_.make_file(kRootInode, "a");
  std::uint64_t cookie = 0;
  EXPECT_THAT(read(cookie), ElementsAre(".", "..", "a"));
  fs_.make_file(kRootInode, "b");
  EXPECT_THAT(read(cookie), ElementsAre());

  cookie = 0;

  EXPECT_THAT(read(cookie), ElementsAre(".", "..", "a", "b"));
}

// An NFS server opens the directory for each piece that a client asks for.
TEST_F(DirectoryStreamTest, ThatBeginsInTheMiddleEndsWhereTheDirectoryEndsThen) {
  for (const char* name : {"a", "b", "c"}) fs_.make_file(kRootInode, name);
  std::uint64_t cookie = fs_.list(kRootInode)[2].cookie;

  EXPECT_THAT(read(cookie, 1), ElementsAre("b"));
  fs_.make_file(kRootInode, "d");

  EXPECT_THAT(read(cookie), ElementsAre("c"));
}

TEST_F(DirectoryStreamTest, ListsSnapshotsThatCameMeanwhile) {
  ASSERT_TRUE(ok(fs_->create_snapshot("one")));
  std::vector<std::string> names;

  ASSERT_TRUE(ok(fs_->read_directory(
      kSnapshotsInode, 0, false,
      [&](const DirectoryEntry& entry) {
        names.push_back(entry.name);
        return true;
      },
      &stream_)));

  EXPECT_THAT(names, ElementsAre(".", "..", "one"));
}

TEST_F(DirectoryStreamTest, LeavesTheAccessTimeIfItIsTold) {
  const Timestamp before = fs_.attributes(kRootInode).atime;
  stream_.notes_access = false;
  std::uint64_t cookie = 0;
  read(cookie);
  EXPECT_EQ(fs_.attributes(kRootInode).atime, before);

  stream_.notes_access = true;
  cookie = 0;
  read(cookie);

  EXPECT_GT(fs_.attributes(kRootInode).atime, before);
}

}  // namespace
}  // namespace dedupfs
