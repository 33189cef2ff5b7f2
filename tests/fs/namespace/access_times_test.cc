#include "fs/namespace/access_times.h"

#include <gtest/gtest.h>

#include "test_filesystem.h"

namespace dedupfs {
namespace {

FilesystemOptions with_atime(FilesystemOptions::Atime policy) {
  FilesystemOptions options = TestFilesystem::quiet();
  options.atime = policy;
  return options;
}

TEST(AccessTimes, ReadingUpdatesAtimeOnceUntilTheFileChanges) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f", "text");
  const Timestamp written = fs.attributes(file).atime;

  fs.content(file);
  const Timestamp first = fs.attributes(file).atime;
  fs.content(file);
  const Timestamp second = fs.attributes(file).atime;

  EXPECT_GT(first, written);
  EXPECT_EQ(second, first);
}

TEST(AccessTimes, ADayLaterAReadCountsAgain) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f", "text");
  const Timestamp now = Timestamp::now();
  const auto atime_after_a_read = [&](std::int64_t age) {
    // The times of changes are older than the last access: only its age counts.
    value_of(fs->set_attributes(
        file, {.atime = Timestamp{now.seconds - age, 0}, .mtime = Timestamp{0, 0}, .ctime = Timestamp{0, 0}}, {}));
    fs.content(file);
    return fs.attributes(file).atime.seconds;
  };

  EXPECT_EQ(atime_after_a_read(23 * 3600), now.seconds - 23 * 3600);
  EXPECT_GE(atime_after_a_read(24 * 3600), now.seconds);
}

TEST(AccessTimes, ThePolicyMayBeNeverOrAlways) {
  TestFilesystem never(with_atime(FilesystemOptions::Atime::kNever));
  TestFilesystem always(with_atime(FilesystemOptions::Atime::kAlways));
  const InodeNumber unread = never.make_file(kRootInode, "f", "text");
  const InodeNumber read = always.make_file(kRootInode, "f", "text");
  const Timestamp before = never.attributes(unread).atime;

  never.content(unread);
  always.content(read);
  const Timestamp first = always.attributes(read).atime;
  always.content(read);

  EXPECT_EQ(never.attributes(unread).atime, before);
  EXPECT_GT(always.attributes(read).atime, first);
}

}  // namespace
}  // namespace dedupfs
