#include "fs/namespace/file_contents.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "test_filesystem.h"

namespace dedupfs {
namespace {

constexpr Caller kWriter{.uid = 1000, .gid = 100, .umask = 022};

TEST(FileContents, EndAtTheLargestOffset) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f");

  fs.write(file, kMaxFileBytes - 3, "end");

  EXPECT_EQ(fs.attributes(file).size, kMaxFileBytes);
  EXPECT_EQ(fs.read(file, kMaxFileBytes - 4, 10), std::string("\0end", 4));
  EXPECT_TRUE(fails_with(ErrorCode::kTooLarge, fs->write(file, kMaxFileBytes - 3, bytes_of("end!"), {}, nullptr)));
  EXPECT_TRUE(fails_with(ErrorCode::kTooLarge, fs->set_attributes(file, {.size = kMaxFileBytes + 1}, {})));
}

TEST(FileContents, ARangeEndsAtTheLargestOffset) {
  EXPECT_TRUE(ok(FileContents::check_range(0, kMaxFileBytes)));
  EXPECT_TRUE(ok(FileContents::check_range(kMaxFileBytes, 0)));
  EXPECT_TRUE(fails_with(ErrorCode::kTooLarge, FileContents::check_range(1, kMaxFileBytes)));
  EXPECT_TRUE(fails_with(ErrorCode::kTooLarge, FileContents::check_range(UINT64_MAX, 2)));
  EXPECT_TRUE(fails_with(ErrorCode::kTooLarge, FileContents::check_range(2, UINT64_MAX)));
}

TEST(FileContents, WritingByAUserDropsSetIdBits) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f");
  const auto mode_after = [&](std::uint32_t mode, const std::function<void()>& change) {
    value_of(fs->set_attributes(file, {.mode = mode}, {}));
    change();
    return fs.attributes(file).mode & 07777;
  };

  EXPECT_EQ(mode_after(06755, [&] { (void)fs->write(file, 0, bytes_of("x"), kWriter, nullptr); }), 0755U);
  EXPECT_EQ(mode_after(06755, [&] { (void)fs->write(file, 0, bytes_of("x"), {}, nullptr); }), 06755U);
  EXPECT_EQ(mode_after(06755, [&] { (void)fs->set_attributes(file, {.size = 3}, kWriter); }), 0755U);
}

}  // namespace
}  // namespace dedupfs
