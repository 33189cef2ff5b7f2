#include "fs/namespace/xattrs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "acl_lists.h"
#include "fs/namespace/posix_acl.h"
#include "test_filesystem.h"

namespace dedupfs {
namespace {

using testing::UnorderedElementsAre;

TEST(Xattrs, AreKept) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f");
  using enum XattrMode;
  const std::string large(kMaxXattrValue, 'v');

  EXPECT_TRUE(fails_with(ErrorCode::kNoData, fs->get_xattr(file, "user.a")));
  EXPECT_TRUE(fails_with(ErrorCode::kNoData, fs->set_xattr(file, "user.a", "1", kReplace)));
  EXPECT_TRUE(ok(fs->set_xattr(file, "user.a", std::string_view("1\0002", 3), kCreate)));
  EXPECT_TRUE(fails_with(ErrorCode::kExists, fs->set_xattr(file, "user.a", "1", kCreate)));
  EXPECT_TRUE(ok(fs->set_xattr(file, "trusted.b", large, kSet)));
  EXPECT_TRUE(ok(fs->set_xattr(file, "security.capability", "", kSet)));
  EXPECT_TRUE(fails_with(ErrorCode::kTooLarge, fs->set_xattr(file, "user.c", large + "v", kSet)));
  EXPECT_TRUE(fails_with(ErrorCode::kUnsupported, fs->set_xattr(file, "system.other", "x", kSet)));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs->set_xattr(file, "user.", "x", kSet)));
  fs.reopen();

  EXPECT_THAT(value_of(fs->list_xattrs(file)), UnorderedElementsAre("user.a", "trusted.b", "security.capability"));
  EXPECT_EQ(value_of(fs->get_xattr(file, "user.a")), std::string("1\0002", 3));
  EXPECT_EQ(value_of(fs->get_xattr(file, "trusted.b")), large);
  EXPECT_TRUE(ok(fs->remove_xattr(file, "trusted.b")));
  EXPECT_TRUE(fails_with(ErrorCode::kNoData, fs->remove_xattr(file, "trusted.b")));
  EXPECT_TRUE(ok(fs->remove_xattr(file, "user.a")));
  EXPECT_TRUE(ok(fs->remove_xattr(file, "security.capability")));
  EXPECT_TRUE(value_of(fs->list_xattrs(file)).empty());
}

TEST(Xattrs, AnAccessListChangesTheModeAndChmodChangesTheList) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f");

  ASSERT_TRUE(ok(fs->set_xattr(file, kAccessAclName, kSharedAcl, Filesystem::XattrMode::kSet)));
  EXPECT_EQ(fs.attributes(file).mode & 0777, 0770U);
  value_of(fs->set_attributes(file, {.mode = 0640}, {}));

  const PosixAcl acl = value_of(PosixAcl::decode(value_of(fs->get_xattr(file, kAccessAclName))));
  EXPECT_EQ(acl.permissions(), 0640U);
  EXPECT_EQ(acl.entries()[1].permissions, 6);
}

TEST(Xattrs, AnAccessListThatSaysNoMoreThanAModeIsNotKept) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f");
  ASSERT_TRUE(ok(fs->set_xattr(file, kAccessAclName, kSharedAcl, Filesystem::XattrMode::kSet)));

  ASSERT_TRUE(ok(fs->set_xattr(file, kAccessAclName, kPlainAcl, Filesystem::XattrMode::kSet)));

  EXPECT_EQ(fs.attributes(file).mode & 0777, 0644U);
  EXPECT_TRUE(fails_with(ErrorCode::kNoData, fs->get_xattr(file, kAccessAclName)));
  EXPECT_TRUE(ok(fs->remove_xattr(file, kAccessAclName)));
}

TEST(Xattrs, ThoseOfDedupfsItselfAreInNoList) {
  TestFilesystem filesystem;
  const InodeNumber file = filesystem.make_file(kRootInode, "file");
  ASSERT_TRUE(ok(filesystem->set_xattr(file, "trusted.dedupfs.received", "state", XattrMode::kSet)));
  ASSERT_TRUE(ok(filesystem->set_xattr(file, "user.note", "value", XattrMode::kSet)));

  EXPECT_EQ(value_of(filesystem->list_xattrs(file)), std::vector<std::string>{"user.note"});
  EXPECT_EQ(value_of(filesystem->get_xattr(file, "trusted.dedupfs.received")), "state");
}

}  // namespace
}  // namespace dedupfs
