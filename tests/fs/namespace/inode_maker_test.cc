#include "fs/namespace/inode_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "acl_lists.h"
#include "fs/format/records.h"
#include "fs/namespace/posix_acl.h"
#include "support/folder_at.h"
#include "test_filesystem.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;

constexpr Caller kCreator{.uid = 1000, .gid = 100, .umask = 022};

TEST(InodeMaker, ANewVolumeHasAnEmptyRoot) {
  TestFilesystem fs;

  const Attributes root = fs.attributes(kRootInode);

  EXPECT_TRUE(is_directory(root.mode));
  EXPECT_EQ(root.links, 2U);
  EXPECT_THAT(fs.names(kRootInode), ElementsAre(".", ".."));
}

TEST(InodeMaker, AFreshVolumeCanBeSeenReadOnly) {
  TestFilesystem fs;
  fs.close();
  std::filesystem::remove_all(fs.path());
  value_of(Volume::create(fs.path(), TestFilesystem::settings()));

  fs.open(true);

  EXPECT_THAT(fs.names(kRootInode), ElementsAre(".", ".."));
}

TEST(InodeMaker, AMissingRootIsDamage) {
  TestFilesystem fs;
  fs.make_file(kRootInode, "f");
  fs.close();
  {
    auto database = value_of(Database::open(folder_at(fs.path() / "index"), {}));
    Database::Batch batch(*database);
    batch.erase(Family::kInodes, encode_inode_key(kRootInode));
    ASSERT_TRUE(ok(database->write(batch)));
  }

  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, Filesystem::open(value_of(Volume::open(fs.path(), {})), {})));
}

TEST(InodeMaker, ObjectsBelongToTheCallerAndObeyTheUmask) {
  TestFilesystem fs;

  const Attributes file = value_of(fs->create(kRootInode, "f", 0666, kCreator));
  const Attributes directory = value_of(fs->make_directory(kRootInode, "d", 0777, kCreator));

  EXPECT_EQ(file.mode, S_IFREG | 0644U);
  EXPECT_EQ(file.uid, kCreator.uid);
  EXPECT_EQ(file.gid, kCreator.gid);
  EXPECT_EQ(directory.mode, S_IFDIR | 0755U);
}

TEST(InodeMaker, SetGidDirectoriesHandTheirGroupOn) {
  TestFilesystem fs;
  const InodeNumber shared = fs.make_directory(kRootInode, "shared", 0777);
  ASSERT_TRUE(ok(fs->set_attributes(shared, {.mode = 02777, .gid = 55}, {})));

  EXPECT_EQ(value_of(fs->create(shared, "f", 0644, kCreator)).gid, 55U);
  const Attributes directory = value_of(fs->make_directory(shared, "d", 0755, kCreator));
  EXPECT_EQ(directory.gid, 55U);
  EXPECT_EQ(directory.mode & S_ISGID, static_cast<unsigned>(S_ISGID));
}

TEST(InodeMaker, DefaultListsAreInheritedInPlaceOfTheUmask) {
  TestFilesystem fs;
  const InodeNumber directory = fs.make_directory(kRootInode, "d");
  ASSERT_TRUE(ok(fs->set_xattr(directory, kDefaultAclName, kSharedAcl, Filesystem::XattrMode::kSet)));

  const Attributes file = value_of(fs->create(directory, "f", 0666, {.umask = 077}));
  const Attributes sub = value_of(fs->make_directory(directory, "s", 0777, {.umask = 077}));

  EXPECT_EQ(file.mode & 0777, 0660U);
  EXPECT_TRUE(ok(fs->get_xattr(file.inode, kAccessAclName)));
  EXPECT_TRUE(fails_with(ErrorCode::kNoData, fs->get_xattr(file.inode, kDefaultAclName)));
  EXPECT_EQ(sub.mode & 0777, 0770U);
  EXPECT_EQ(value_of(fs->get_xattr(sub.inode, kDefaultAclName)), kSharedAcl);
  EXPECT_TRUE(fails_with(ErrorCode::kAccessDenied,
                         fs->set_xattr(file.inode, kDefaultAclName, kSharedAcl, Filesystem::XattrMode::kSet)));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument,
                         fs->set_xattr(directory, kDefaultAclName, kSharedAcl + "?", Filesystem::XattrMode::kSet)));
}

}  // namespace
}  // namespace dedupfs
