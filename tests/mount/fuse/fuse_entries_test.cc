#include "mount/fuse/fuse_entries.h"

#include <gtest/gtest.h>

#include "fake_kernel.h"

namespace dedupfs {
namespace {

TEST(FuseEntries, AStatHasAllThatTheAttributesHave) {
  Attributes attributes;
  attributes.inode = 7;
  attributes.mode = S_IFREG | 0640;
  attributes.uid = 1;
  attributes.gid = 2;
  attributes.links = 3;
  attributes.device = 0x0801;
  attributes.size = 5000;
  attributes.atime = {.seconds = 10, .nanoseconds = 1};
  attributes.mtime = {.seconds = -20, .nanoseconds = 2};
  attributes.ctime = {.seconds = 30, .nanoseconds = 3};

  const struct stat status = to_stat(attributes);

  EXPECT_EQ(status.st_ino, 7u);
  EXPECT_EQ(status.st_mode, mode_t{S_IFREG | 0640});
  EXPECT_EQ(status.st_uid, 1u);
  EXPECT_EQ(status.st_gid, 2u);
  EXPECT_EQ(status.st_nlink, 3u);
  EXPECT_EQ(status.st_rdev, 0x0801u);
  EXPECT_EQ(status.st_size, 5000);
  EXPECT_EQ(status.st_atim.tv_sec, 10);
  EXPECT_EQ(status.st_atim.tv_nsec, 1);
  EXPECT_EQ(status.st_mtim.tv_sec, -20);
  EXPECT_EQ(status.st_mtim.tv_nsec, 2);
  EXPECT_EQ(status.st_ctim.tv_sec, 30);
  EXPECT_EQ(status.st_ctim.tv_nsec, 3);
}

TEST(FuseEntries, ABlockOfWhichAByteIsDataCounts) {
  Attributes attributes;
  for (const auto& [bytes, blocks] : {std::pair{0, 0}, {1, 1}, {512, 1}, {513, 2}}) {
    attributes.data_bytes = static_cast<std::uint64_t>(bytes);
    EXPECT_EQ(to_stat(attributes).st_blocks, blocks) << bytes;
  }
}

TEST(FuseEntries, AttributesOfAFileThatIsBeingWrittenAreAskedForAgainSoon) {
  AskedFilesystem asked;
  Attributes attributes;
  attributes.inode = asked.file("f");
  EXPECT_EQ(to_entry(asked.mount, attributes).parameters.attr_timeout, kValidSeconds);

  const std::uint64_t fh = asked.open(attributes.inode, O_WRONLY);
  EXPECT_EQ(to_entry(asked.mount, attributes).parameters.attr_timeout, 1);
  EXPECT_EQ(to_entry(asked.mount, attributes).parameters.entry_timeout, kValidSeconds) << "the name stays";
  EXPECT_EQ(value_of(to_reply(asked.mount, Result<Attributes>(attributes))).timeout_seconds, 1);

  asked.release(attributes.inode, fh);
  EXPECT_EQ(to_entry(asked.mount, attributes).parameters.attr_timeout, kValidSeconds);
}

// They come and go without the kernel.
TEST(FuseEntries, NoNameOfASnapshotIsRemembered) {
  AskedFilesystem asked;
  Attributes attributes;
  attributes.inode = node_of(3, kRootInode);
  EXPECT_EQ(to_entry(asked.mount, attributes).parameters.entry_timeout, 0);
  attributes.inode = node_of(3, 17);
  EXPECT_EQ(to_entry(asked.mount, attributes).parameters.entry_timeout, kValidSeconds) << "nothing changes in it";
  attributes.inode = kSnapshotsInode;
  EXPECT_EQ(to_entry(asked.mount, attributes).parameters.attr_timeout, 0);
}

TEST(FuseEntries, AnErrorStaysAnError) {
  AskedFilesystem asked;
  const Result<Attributes> error = Error{ErrorCode::kStale, "gone"};
  EXPECT_TRUE(fails_with(ErrorCode::kStale, to_entry(asked.mount, error)));
  EXPECT_TRUE(fails_with(ErrorCode::kStale, to_reply(asked.mount, error)));
}

TEST(FuseEntries, WithDirsyncANameIsDurableWhenItIsAnswered) {
  for (const bool dirsync : {false, true}) {
    AskedFilesystem asked;
    asked.mount.set_synchronous(false, dirsync);
    fuse_mkdir_in wanted{};
    wanted.mode = 0755;
    ASSERT_EQ(asked.kernel.ask(FUSE_MKDIR, kRootInode, raw(wanted) + c_string("folder")).error, 0);

    EXPECT_EQ(asked.fs.after_crash()->find("folder").has_value(), dirsync);
  }
}

}  // namespace
}  // namespace dedupfs
