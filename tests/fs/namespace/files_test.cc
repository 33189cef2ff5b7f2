#include "fs/namespace/files.h"

#include <gtest/gtest.h>

#include <string>

#include "test_filesystem.h"

namespace dedupfs {
namespace {

TEST(Files, AllocateExtendsPunchesAndZeroes) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f", std::string(100'000, 'x'));
  using enum AllocateMode;
  std::string expected(100'000, 'x');

  EXPECT_TRUE(ok(fs->allocate(file, 90'000, 20'000, kKeepSize)));
  EXPECT_TRUE(ok(fs->allocate(file, 90'000, 20'000, kExtend)));
  expected.resize(110'000);
  EXPECT_EQ(fs.content(file), expected);
  EXPECT_TRUE(ok(fs->allocate(file, 10, 50'000, kPunchHole)));
  EXPECT_TRUE(ok(fs->allocate(file, 109'000, 50'000, kPunchHole)));
  EXPECT_TRUE(ok(fs->allocate(file, 80'000, 1'000, kZeroRangeKeepSize)));
  EXPECT_TRUE(ok(fs->allocate(file, 109'000, 6'000, kZeroRange)));
  expected.replace(10, 50'000, 50'000, '\0');
  expected.replace(80'000, 1'000, 1'000, '\0');
  expected.resize(115'000);
  EXPECT_EQ(fs.content(file), expected);
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs->allocate(file, 0, 0, kExtend)));
  EXPECT_TRUE(fails_with(ErrorCode::kTooLarge, fs->allocate(file, kMaxFileBytes, 1, kExtend)));
  EXPECT_TRUE(fails_with(ErrorCode::kNoSpace, fs->allocate(file, 0, kMaxFileBytes, kExtend)));
}

TEST(Files, CopyRangeClonesUpToTheEndOfTheSource) {
  TestFilesystem fs;
  const std::string content = random_text(200'000, 4);
  const InodeNumber from = fs.make_file(kRootInode, "from", content);
  const InodeNumber to = fs.make_file(kRootInode, "to", std::string(1000, 'x'));

  EXPECT_EQ(value_of(fs->copy_range(from, 100'000, to, 500, 1 << 20)), 100'000U);
  EXPECT_EQ(fs.content(to), std::string(500, 'x') + content.substr(100'000));
  EXPECT_EQ(value_of(fs->copy_range(from, 300'000, to, 0, 10)), 0U);
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs->copy_range(from, 0, from, 100, 200)));
  EXPECT_EQ(value_of(fs->copy_range(from, 0, from, 200'000, 1000)), 1000U);
  EXPECT_EQ(fs.content(from), content + content.substr(0, 1000));
}

TEST(Files, AFurtherLimitIsOnWhatIsWritten) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f", "text");
  fs->limit_writes({.look = [] { return DataLimit::Seen{}; },
                    .want_room = [] {},
                    .when_waiting = [](bool) {},
                    .refuse =
                        [] {
                          return Error{ErrorCode::kNoSpace, "no room elsewhere"};
                        },
                    .longest_wait = {}});

  EXPECT_TRUE(fails_with(ErrorCode::kNoSpace, fs->write(file, 0, bytes_of("x"), {}, nullptr)));

  EXPECT_EQ(fs.content(file), "text");
  EXPECT_TRUE(ok(fs->allocate(file, 0, 1 << 20, Filesystem::AllocateMode::kExtend))) << "nothing is stored for it";
  const InodeNumber copy = fs.make_file(kRootInode, "copy");
  EXPECT_TRUE(ok(fs->copy_range(file, 0, copy, 0, 4)));
  EXPECT_TRUE(ok(fs->unlink(kRootInode, "f")));
  EXPECT_TRUE(ok(fs->sync()));
  fs->end_changes(Error{ErrorCode::kReadOnly, "enough"});
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs->write(copy, 0, bytes_of("x"), {}, nullptr)));
}

TEST(Files, DirectoriesAndDevicesAreNotFiles) {
  TestFilesystem fs;
  const InodeNumber fifo = value_of(fs->make_node(kRootInode, "fifo", S_IFIFO | 0600, 0, {})).inode;

  EXPECT_TRUE(fails_with(ErrorCode::kIsDirectory, fs->open_file(kRootInode, false, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kIsDirectory, fs->set_attributes(kRootInode, {.size = 0}, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs->write(fifo, 0, bytes_of("x"), {}, nullptr)));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs->read_symlink(fifo)));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs->make_node(kRootInode, "d", S_IFDIR | 0700, 0, {})));
}

TEST(Files, OpeningMayEmptyOne) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f", "text");

  ASSERT_TRUE(ok(fs->open_file(file, true, {})));

  EXPECT_EQ(fs.attributes(file).size, 0U);
  EXPECT_EQ(fs.content(file), "");
  fs->release_file(file, true);
}

}  // namespace
}  // namespace dedupfs
