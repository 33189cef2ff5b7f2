#include "fs/namespace/filesystem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <thread>

#include "faulty_filesystem.h"
#include "fs/format/records.h"
#include "fs/namespace/posix_acl.h"
#include "support/folder_at.h"
#include "test_filesystem.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr Caller kUser{.uid = 1000, .gid = 100, .umask = 022};

std::string random_bytes(std::size_t length, std::uint64_t seed) {
  std::string bytes;
  for (; bytes.size() < length; seed = seed * 6364136223846793005U + 1442695040888963407U)
    bytes.push_back(static_cast<char>(seed >> 56));
  return bytes;
}

// ---------------------------------------------------------------- names

TEST(Filesystem, ANewVolumeHasAnEmptyRoot) {
  TestFilesystem fs;

  const Attributes root = fs.attributes(kRootInode);

  EXPECT_TRUE(is_directory(root.mode));
  EXPECT_EQ(root.links, 2U);
  EXPECT_THAT(fs.names(kRootInode), ElementsAre(".", ".."));
}

TEST(Filesystem, WhatWasMadeIsThereAfterReopening) {
  TestFilesystem fs;
  const InodeNumber directory = fs.make_directory(kRootInode, "directory");
  const std::string content = random_bytes(300'000, 1);
  const InodeNumber file = fs.make_file(directory, "file", content, 0640);
  value_of(fs->make_symlink(directory, "link", "../target", kUser));
  value_of(fs->make_node(directory, "device", S_IFBLK | 0600, 0x801, kUser));
  const Attributes before = fs.attributes(file);

  fs.reopen();

  EXPECT_EQ(value_of(fs.find("directory/file")), file);
  EXPECT_EQ(fs.content(file), content);
  Attributes after = fs.attributes(file);
  after.atime = before.atime;
  after.data_bytes = before.data_bytes;
  EXPECT_EQ(after, before);
  EXPECT_EQ(value_of(fs->read_symlink(value_of(fs.find("directory/link")))), "../target");
  EXPECT_EQ(fs.attributes(value_of(fs.find("directory/device"))).device, 0x801U);
}

TEST(Filesystem, NamesAreAnyBytesButSlashAndNul) {
  TestFilesystem fs;
  const std::string longest(kMaxName, '\xfe');
  fs.make_file(kRootInode, longest);
  fs.make_file(kRootInode, "\n\t \\*");

  EXPECT_TRUE(ok(fs.find(longest)));
  EXPECT_TRUE(fails_with(ErrorCode::kNameTooLong, fs->create(kRootInode, longest + "x", 0644, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kNameTooLong, fs->lookup(kRootInode, longest + "x")));
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"), std::string("a\0", 2)})
    EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs->create(kRootInode, name, 0644, {}))) << name;
}

TEST(Filesystem, DotsLeadToTheDirectoryAndItsParent) {
  TestFilesystem fs;
  const InodeNumber outer = fs.make_directory(kRootInode, "outer");
  const InodeNumber inner = fs.make_directory(outer, "inner");

  EXPECT_EQ(value_of(fs->lookup(inner, ".")).inode, inner);
  EXPECT_EQ(value_of(fs->lookup(inner, "..")).inode, outer);
  EXPECT_EQ(value_of(fs->lookup(kRootInode, "..")).inode, kRootInode);
}

TEST(Filesystem, CreatingWhatExistsFails) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "a");

  EXPECT_TRUE(fails_with(ErrorCode::kExists, fs->create(kRootInode, "a", 0644, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kExists, fs->make_directory(kRootInode, "a", 0755, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kExists, fs->make_link(file, kRootInode, "a")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotDirectory, fs->create(file, "b", 0644, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kStale, fs->create(999, "b", 0644, {})));
}

TEST(Filesystem, HardLinksShareOneInode) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "a", "text");
  const InodeNumber directory = fs.make_directory(kRootInode, "d");

  EXPECT_EQ(value_of(fs->make_link(file, directory, "b")).links, 2U);
  EXPECT_TRUE(ok(fs->unlink(kRootInode, "a")));

  EXPECT_EQ(fs.attributes(file).links, 1U);
  EXPECT_EQ(fs.content(value_of(fs.find("d/b"))), "text");
  EXPECT_TRUE(fails_with(ErrorCode::kNotPermitted, fs->make_link(directory, kRootInode, "e")));
}

TEST(Filesystem, DirectoriesCountTheirSubdirectories) {
  TestFilesystem fs;
  const InodeNumber directory = fs.make_directory(kRootInode, "d");
  fs.make_directory(directory, "one");
  fs.make_directory(directory, "two");
  fs.make_file(directory, "file");

  EXPECT_EQ(fs.attributes(directory).links, 4U);
  EXPECT_TRUE(fails_with(ErrorCode::kNotEmpty, fs->remove_directory(kRootInode, "d")));
  EXPECT_TRUE(fails_with(ErrorCode::kIsDirectory, fs->unlink(directory, "one")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotDirectory, fs->remove_directory(directory, "file")));
  EXPECT_TRUE(ok(fs->remove_directory(directory, "one")));
  EXPECT_EQ(fs.attributes(directory).links, 3U);
}

TEST(Filesystem, ARemovedDirectoryTakesNoNames) {
  TestFilesystem fs;
  const InodeNumber directory = fs.make_directory(kRootInode, "d");
  const InodeNumber file = fs.make_file(kRootInode, "f");
  ASSERT_TRUE(ok(fs->remove_directory(kRootInode, "d")));

  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs->create(directory, "x", 0644, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs->make_link(file, directory, "x")));
  EXPECT_TRUE(
      fails_with(ErrorCode::kNotFound, fs->rename(kRootInode, "f", directory, "x", Filesystem::RenameMode::kReplace)));
}

// ---------------------------------------------------------------- deletion

TEST(Filesystem, AnUnlinkedFileLivesUntilItIsClosedAndForgotten) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "a", "text");
  ASSERT_TRUE(ok(fs->open_file(file, false, {})));
  ASSERT_TRUE(ok(fs->unlink(kRootInode, "a")));

  EXPECT_EQ(fs.attributes(file).links, 0U);
  fs.write(file, 4, " and more");
  ASSERT_TRUE(ok(fs->sync()));
  EXPECT_EQ(fs.content(file), "text and more");
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs->make_link(file, kRootInode, "again")));

  fs->release_file(file, true);
  fs->forget(file, 1);
  EXPECT_TRUE(fs.inodes_become(1));
  EXPECT_TRUE(fails_with(ErrorCode::kStale, fs->lookup(file, ".")));
}

TEST(Filesystem, WhatWasUnlinkedAndOpenIsDeletedAfterACrash) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "a", random_bytes(100'000, 2));
  ASSERT_TRUE(ok(fs->set_xattr(file, "user.x", "y", Filesystem::XattrMode::kSet)));
  ASSERT_TRUE(ok(fs->open_file(file, false, {})));
  ASSERT_TRUE(ok(fs->unlink(kRootInode, "a")));
  ASSERT_TRUE(ok(fs->sync()));

  const auto crashed = fs.after_crash();

  EXPECT_TRUE(crashed->inodes_become(1));
  ASSERT_TRUE(ok((*crashed)->sync()));
  Metadata& metadata = (*crashed)->volume().metadata();
  for (const Family family : {Family::kRecipes, Family::kXattrs, Family::kOrphans})
    EXPECT_TRUE(value_of(metadata.list(family, {}, {}, 10)).empty()) << name_of(family);
}

TEST(Filesystem, DeletingAFreshFileStoresNothingOfIt) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "a", random_bytes(20'000, 3));
  ASSERT_TRUE(ok(fs->unlink(kRootInode, "a")));
  fs->forget(file, 1);

  EXPECT_TRUE(fs.inodes_become(1));
  EXPECT_TRUE(ok(fs->sync()));
  EXPECT_EQ(fs->dirty_bytes(), 0U);
}

// ---------------------------------------------------------------- rename

TEST(Filesystem, RenameReplacesOneFileByAnother) {
  TestFilesystem fs;
  const InodeNumber directory = fs.make_directory(kRootInode, "d");
  const InodeNumber a = fs.make_file(kRootInode, "a", "new");
  const InodeNumber b = fs.make_file(directory, "b", "old");
  fs->forget(b, 1);

  EXPECT_TRUE(ok(fs->rename(kRootInode, "a", directory, "b", Filesystem::RenameMode::kReplace)));

  EXPECT_EQ(value_of(fs.find("d/b")), a);
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs.find("a")));
  EXPECT_TRUE(fs.inodes_become(3));
}

TEST(Filesystem, RenameModesAreObeyed) {
  TestFilesystem fs;
  const InodeNumber directory = fs.make_directory(kRootInode, "d");
  const InodeNumber sub = fs.make_directory(directory, "sub");
  const InodeNumber file = fs.make_file(kRootInode, "f");
  const auto rename = [&](InodeNumber from, std::string_view old_name, InodeNumber to, std::string_view new_name,
                          Filesystem::RenameMode mode) { return fs->rename(from, old_name, to, new_name, mode); };
  using enum Filesystem::RenameMode;

  EXPECT_TRUE(fails_with(ErrorCode::kExists, rename(kRootInode, "f", directory, "sub", kNoReplace)));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, rename(kRootInode, "f", directory, "none", kExchange)));
  EXPECT_TRUE(ok(rename(kRootInode, "f", directory, "sub", kExchange)));

  EXPECT_EQ(value_of(fs.find("f")), sub);
  EXPECT_EQ(value_of(fs.find("d/sub")), file);
  EXPECT_EQ(value_of(fs->lookup(sub, "..")).inode, kRootInode);
  EXPECT_EQ(fs.attributes(directory).links, 2U);
  EXPECT_EQ(fs.attributes(kRootInode).links, 4U);
}

TEST(Filesystem, RenameChecksTypes) {
  TestFilesystem fs;
  const InodeNumber full = fs.make_directory(kRootInode, "full");
  fs.make_file(full, "x");
  fs.make_directory(kRootInode, "empty");
  fs.make_file(kRootInode, "file");
  const auto rename = [&](std::string_view from, std::string_view to) {
    return fs->rename(kRootInode, from, kRootInode, to, Filesystem::RenameMode::kReplace);
  };

  EXPECT_TRUE(fails_with(ErrorCode::kNotDirectory, rename("empty", "file")));
  EXPECT_TRUE(fails_with(ErrorCode::kIsDirectory, rename("file", "empty")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotEmpty, rename("empty", "full")));
  EXPECT_TRUE(ok(rename("full", "empty")));
  EXPECT_TRUE(ok(fs.find("empty/x")));
  EXPECT_EQ(fs.attributes(kRootInode).links, 3U);
}

TEST(Filesystem, ADirectoryDoesNotMoveIntoItself) {
  TestFilesystem fs;
  const InodeNumber a = fs.make_directory(kRootInode, "a");
  const InodeNumber b = fs.make_directory(a, "b");
  fs.make_directory(b, "c");

  EXPECT_TRUE(
      fails_with(ErrorCode::kInvalidArgument, fs->rename(kRootInode, "a", b, "x", Filesystem::RenameMode::kReplace)));
  EXPECT_TRUE(
      fails_with(ErrorCode::kInvalidArgument, fs->rename(b, "c", kRootInode, "a", Filesystem::RenameMode::kExchange)));
  EXPECT_TRUE(fails_with(ErrorCode::kNotEmpty, fs->rename(b, "c", kRootInode, "a", Filesystem::RenameMode::kReplace)));
}

TEST(Filesystem, RenamingOneLinkOntoAnotherDoesNothing) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "a");
  value_of(fs->make_link(file, kRootInode, "b"));

  EXPECT_TRUE(ok(fs->rename(kRootInode, "a", kRootInode, "b", Filesystem::RenameMode::kReplace)));

  EXPECT_EQ(fs.attributes(file).links, 2U);
  EXPECT_TRUE(ok(fs.find("a")));
}

// ---------------------------------------------------------------- directories

TEST(Filesystem, EntriesComeInOrderOfCreation) {
  TestFilesystem fs;
  for (const char* name : {"z", "a", "m"}) fs.make_file(kRootInode, name);

  EXPECT_THAT(fs.names(kRootInode), ElementsAre(".", "..", "z", "a", "m"));
}

TEST(Filesystem, ReadingGoesOnBehindACookieWhateverHappened) {
  TestFilesystem fs;
  for (int i = 0; i < 1000; ++i) fs.make_file(kRootInode, "file" + std::to_string(i));
  std::vector<std::string> seen;
  std::uint64_t cookie = 0;

  for (int piece = 0;; ++piece) {
    const std::vector<DirectoryEntry> entries = fs.list(kRootInode, cookie, 7);
    if (entries.empty()) break;
    for (const DirectoryEntry& entry : entries) seen.push_back(entry.name);
    cookie = entries.back().cookie;
    if (piece < 10) {
      ASSERT_TRUE(ok(fs->unlink(kRootInode, entries.back().name)));
      ASSERT_TRUE(ok(fs->unlink(kRootInode, "file" + std::to_string(999 - piece))));
    }
  }

  EXPECT_EQ(seen.size(), 1002U - 10);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

TEST(Filesystem, CountedEntriesAreReferences) {
  TestFilesystem fs;
  const InodeNumber a = fs.make_file(kRootInode, "a");
  const InodeNumber b = fs.make_file(kRootInode, "b");
  fs->forget(a, 1);
  fs->forget(b, 1);

  std::vector<std::string> seen;
  ASSERT_TRUE(ok(fs->read_directory(kRootInode, 2, true, [&](const DirectoryEntry& entry) {
    EXPECT_TRUE(entry.counted);
    EXPECT_EQ(entry.attributes.links, 1U);
    seen.push_back(entry.name);
    return entry.name == "a";
  })));
  ASSERT_TRUE(ok(fs->unlink(kRootInode, "a")));
  ASSERT_TRUE(ok(fs->unlink(kRootInode, "b")));

  EXPECT_THAT(seen, ElementsAre("a", "b"));
  EXPECT_TRUE(fs.inodes_become(2));  // b was refused by the visitor
  EXPECT_EQ(fs.attributes(a).links, 0U);
  fs->forget(a, 1);
  EXPECT_TRUE(fs.inodes_become(1));
}

TEST(Filesystem, ADamagedInodeDoesNotHideItsNeighbours) {
  TestFilesystem fs;
  const InodeNumber damaged = fs.make_file(kRootInode, "damaged");
  fs.make_file(kRootInode, "sound");
  fs.close();
  {
    auto database = value_of(Database::open(folder_at(fs.path() / "index"), {}));
    Database::Batch batch(*database);
    batch.put(Family::kInodes, encode_inode_key(damaged), "nonsense");
    ASSERT_TRUE(ok(database->write(batch)));
  }
  fs.open();

  EXPECT_THAT(fs.names(kRootInode), ElementsAre(".", "..", "damaged", "sound"));
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, fs.find("damaged")));
  EXPECT_TRUE(ok(fs.find("sound")));
  std::vector<bool> counted;
  ASSERT_TRUE(ok(fs->read_directory(kRootInode, 2, true, [&](const DirectoryEntry& entry) {
    counted.push_back(entry.counted);
    return true;
  })));
  EXPECT_THAT(counted, ElementsAre(false, true));
}

// ---------------------------------------------------------------- attributes

TEST(Filesystem, ObjectsBelongToTheCallerAndObeyTheUmask) {
  TestFilesystem fs;

  const Attributes file = value_of(fs->create(kRootInode, "f", 0666, kUser));
  const Attributes directory = value_of(fs->make_directory(kRootInode, "d", 0777, kUser));

  EXPECT_EQ(file.mode, S_IFREG | 0644U);
  EXPECT_EQ(file.uid, kUser.uid);
  EXPECT_EQ(file.gid, kUser.gid);
  EXPECT_EQ(directory.mode, S_IFDIR | 0755U);
}

TEST(Filesystem, SetGidDirectoriesHandTheirGroupOn) {
  TestFilesystem fs;
  const InodeNumber shared = fs.make_directory(kRootInode, "shared", 0777);
  ASSERT_TRUE(ok(fs->set_attributes(shared, {.mode = 02777, .gid = 55}, {})));

  EXPECT_EQ(value_of(fs->create(shared, "f", 0644, kUser)).gid, 55U);
  const Attributes directory = value_of(fs->make_directory(shared, "d", 0755, kUser));
  EXPECT_EQ(directory.gid, 55U);
  EXPECT_EQ(directory.mode & S_ISGID, static_cast<unsigned>(S_ISGID));
}

TEST(Filesystem, OnlyWhatIsAskedForIsChanged) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f", "text");
  const Attributes before = fs.attributes(file);

  const Attributes after = value_of(fs->set_attributes(file, {.atime = Timestamp{-5, 7}}, {}));

  EXPECT_EQ(after.atime, (Timestamp{-5, 7}));
  EXPECT_EQ(after.mtime, before.mtime);
  EXPECT_EQ(after.mode, before.mode);
  EXPECT_GT(after.ctime, before.ctime);
  EXPECT_EQ(value_of(fs->set_attributes(file, {}, {})), after);
}

TEST(Filesystem, WritingByAUserDropsSetIdBits) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f");
  const auto mode_after = [&](std::uint32_t mode, const std::function<void()>& change) {
    value_of(fs->set_attributes(file, {.mode = mode}, {}));
    change();
    return fs.attributes(file).mode & 07777;
  };

  EXPECT_EQ(mode_after(06755, [&] { (void)fs->write(file, 0, bytes_of("x"), kUser, nullptr); }), 0755U);
  EXPECT_EQ(mode_after(06755, [&] { (void)fs->write(file, 0, bytes_of("x"), {}, nullptr); }), 06755U);
  EXPECT_EQ(mode_after(06755, [&] { (void)fs->set_attributes(file, {.size = 3}, kUser); }), 0755U);
}

TEST(Filesystem, ReadingUpdatesAtimeOnceUntilTheFileChanges) {
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

TEST(Filesystem, ChangingNamesTouchesDirectoryAndInode) {
  TestFilesystem fs;
  const InodeNumber directory = fs.make_directory(kRootInode, "d");
  const InodeNumber file = fs.make_file(kRootInode, "f");
  const Attributes directory_before = fs.attributes(directory);
  const Attributes file_before = fs.attributes(file);

  value_of(fs->make_link(file, directory, "g"));

  EXPECT_GT(fs.attributes(directory).mtime, directory_before.mtime);
  EXPECT_GT(fs.attributes(directory).ctime, directory_before.ctime);
  EXPECT_GT(fs.attributes(file).ctime, file_before.ctime);
  EXPECT_EQ(fs.attributes(file).mtime, file_before.mtime);
}

// ---------------------------------------------------------------- extended attributes

TEST(Filesystem, XattrsAreKept) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f");
  using enum Filesystem::XattrMode;
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

std::string acl_of(std::vector<PosixAcl::Entry> entries) {
  std::string value("\2\0\0\0", 4);
  for (const PosixAcl::Entry& entry : entries) {
    for (const std::uint16_t half : {static_cast<std::uint16_t>(entry.tag), entry.permissions}) {
      value.push_back(static_cast<char>(half));
      value.push_back(static_cast<char>(half >> 8));
    }
    for (int shift = 0; shift < 32; shift += 8) value.push_back(static_cast<char>(entry.id >> shift));
  }
  return value;
}

const std::string kSharedAcl = acl_of({{PosixAcl::Tag::kUserObject, 7, UINT32_MAX},
                                       {PosixAcl::Tag::kUser, 6, 1001},
                                       {PosixAcl::Tag::kGroupObject, 5, UINT32_MAX},
                                       {PosixAcl::Tag::kMask, 7, UINT32_MAX},
                                       {PosixAcl::Tag::kOther, 0, UINT32_MAX}});
const std::string kPlainAcl = acl_of({{PosixAcl::Tag::kUserObject, 6, UINT32_MAX},
                                      {PosixAcl::Tag::kGroupObject, 4, UINT32_MAX},
                                      {PosixAcl::Tag::kOther, 4, UINT32_MAX}});

TEST(Filesystem, AnAccessListChangesTheModeAndChmodChangesTheList) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f");

  ASSERT_TRUE(ok(fs->set_xattr(file, kAccessAclName, kSharedAcl, Filesystem::XattrMode::kSet)));
  EXPECT_EQ(fs.attributes(file).mode & 0777, 0770U);
  value_of(fs->set_attributes(file, {.mode = 0640}, {}));

  const PosixAcl acl = value_of(PosixAcl::decode(value_of(fs->get_xattr(file, kAccessAclName))));
  EXPECT_EQ(acl.permissions(), 0640U);
  EXPECT_EQ(acl.entries()[1].permissions, 6);
}

TEST(Filesystem, AnAccessListThatSaysNoMoreThanAModeIsNotKept) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f");
  ASSERT_TRUE(ok(fs->set_xattr(file, kAccessAclName, kSharedAcl, Filesystem::XattrMode::kSet)));

  ASSERT_TRUE(ok(fs->set_xattr(file, kAccessAclName, kPlainAcl, Filesystem::XattrMode::kSet)));

  EXPECT_EQ(fs.attributes(file).mode & 0777, 0644U);
  EXPECT_TRUE(fails_with(ErrorCode::kNoData, fs->get_xattr(file, kAccessAclName)));
  EXPECT_TRUE(ok(fs->remove_xattr(file, kAccessAclName)));
}

TEST(Filesystem, DefaultListsAreInheritedInPlaceOfTheUmask) {
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

// ---------------------------------------------------------------- files

TEST(Filesystem, FilesEndAtTheLargestOffset) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f");

  fs.write(file, kMaxFileBytes - 3, "end");

  EXPECT_EQ(fs.attributes(file).size, kMaxFileBytes);
  EXPECT_EQ(fs.read(file, kMaxFileBytes - 4, 10), std::string("\0end", 4));
  EXPECT_TRUE(fails_with(ErrorCode::kTooLarge, fs->write(file, kMaxFileBytes - 3, bytes_of("end!"), {}, nullptr)));
  EXPECT_TRUE(fails_with(ErrorCode::kTooLarge, fs->set_attributes(file, {.size = kMaxFileBytes + 1}, {})));
}

TEST(Filesystem, AllocateExtendsPunchesAndZeroes) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f", std::string(100'000, 'x'));
  using enum Filesystem::AllocateMode;
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

TEST(Filesystem, CopyRangeClonesUpToTheEndOfTheSource) {
  TestFilesystem fs;
  const std::string content = random_bytes(200'000, 4);
  const InodeNumber from = fs.make_file(kRootInode, "from", content);
  const InodeNumber to = fs.make_file(kRootInode, "to", std::string(1000, 'x'));

  EXPECT_EQ(value_of(fs->copy_range(from, 100'000, to, 500, 1 << 20)), 100'000U);
  EXPECT_EQ(fs.content(to), std::string(500, 'x') + content.substr(100'000));
  EXPECT_EQ(value_of(fs->copy_range(from, 300'000, to, 0, 10)), 0U);
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs->copy_range(from, 0, from, 100, 200)));
  EXPECT_EQ(value_of(fs->copy_range(from, 0, from, 200'000, 1000)), 1000U);
  EXPECT_EQ(fs.content(from), content + content.substr(0, 1000));
}

TEST(Filesystem, DirectoriesAndDevicesAreNotFiles) {
  TestFilesystem fs;
  const InodeNumber fifo = value_of(fs->make_node(kRootInode, "fifo", S_IFIFO | 0600, 0, {})).inode;

  EXPECT_TRUE(fails_with(ErrorCode::kIsDirectory, fs->open_file(kRootInode, false, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kIsDirectory, fs->set_attributes(kRootInode, {.size = 0}, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs->write(fifo, 0, bytes_of("x"), {}, nullptr)));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs->read_symlink(fifo)));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs->make_node(kRootInode, "d", S_IFDIR | 0700, 0, {})));
}

// ---------------------------------------------------------------- the whole

TEST(Filesystem, ACrashLeavesTheStateOfTheLastSync) {
  TestFilesystem fs;
  const std::string content = random_bytes(500'000, 5);
  const InodeNumber file = fs.make_file(kRootInode, "kept", content);
  ASSERT_TRUE(ok(fs->sync()));
  fs.write(file, 1000, "changed");
  fs.make_file(kRootInode, "lost", random_bytes(500'000, 6));
  ASSERT_TRUE(ok(fs->unlink(kRootInode, "kept")));

  const auto crashed = fs.after_crash();

  EXPECT_THAT(crashed->names(kRootInode), ElementsAre(".", "..", "kept"));
  EXPECT_EQ(crashed->content(file), content);
  EXPECT_GT(crashed->make_file(kRootInode, "new"), value_of(fs.find("lost")));  // no number is used twice
}

TEST(Filesystem, ChangesAreDurableAfterTheInterval) {
  FilesystemOptions options;
  options.commit_interval = std::chrono::milliseconds(50);
  TestFilesystem fs(options);
  fs.make_file(kRootInode, "a", "text");

  for (int i = 0; i < 200 && fs->dirty_bytes() != 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));

  EXPECT_EQ(fs->dirty_bytes(), 0U);
  EXPECT_EQ(fs.after_crash()->content(value_of(fs.find("a"))), "text");
}

TEST(Filesystem, AReadOnlyVolumeShowsEverythingAndTakesNothing) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f", "text");
  const Attributes before = fs.attributes(file);
  fs.reopen(true);

  EXPECT_EQ(fs.content(file), "text");
  EXPECT_EQ(fs.attributes(file).atime, before.atime);
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs->create(kRootInode, "g", 0644, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs->unlink(kRootInode, "f")));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs->write(file, 0, bytes_of("x"), {}, nullptr)));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs->open_file(file, true, {})));
  EXPECT_TRUE(ok(fs->open_file(file, false, {})));
  fs->release_file(file, false);
  EXPECT_TRUE(ok(fs->sync()));
}

TEST(Filesystem, AFreshVolumeCanBeSeenReadOnly) {
  TestFilesystem fs;
  fs.close();
  std::filesystem::remove_all(fs.path());
  value_of(Volume::create(fs.path(), TestFilesystem::settings()));

  fs.open(true);

  EXPECT_THAT(fs.names(kRootInode), ElementsAre(".", ".."));
}

TEST(Filesystem, AMissingRootIsDamage) {
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

TEST(Filesystem, AfterAFullDiskTheNextSyncSucceeds) {
  FaultyFilesystem faulty;
  TestFilesystem& fs = faulty.fs;
  const std::string content = random_bytes(400'000, 7);
  faulty.fail("write", ErrorCode::kNoSpace);
  const InodeNumber file = fs.make_file(kRootInode, "f", content);

  EXPECT_TRUE(fails_with(ErrorCode::kNoSpace, fs->sync()));
  EXPECT_TRUE(ok(fs->create(kRootInode, "more", 0644, {})));
  EXPECT_EQ(fs.content(file), content);
  faulty.fail("write", std::nullopt);
  EXPECT_TRUE(ok(fs->sync()));

  EXPECT_EQ(fs.after_crash()->content(file), content);
}

TEST(Filesystem, AFailedFsyncOfAContainerMakesItReadOnlyForGood) {
  FaultyFilesystem faulty;
  TestFilesystem& fs = faulty.fs;
  const InodeNumber kept = fs.make_file(kRootInode, "kept", "text");
  ASSERT_TRUE(ok(fs->sync()));
  const InodeNumber file = fs.make_file(kRootInode, "f", random_bytes(400'000, 8));
  faulty.fail("datasync", ErrorCode::kIo);

  EXPECT_TRUE(fails_with(ErrorCode::kIo, fs->sync()));
  faulty.fail("datasync", std::nullopt);

  EXPECT_TRUE(fails_with(ErrorCode::kIo, fs->sync()));
  EXPECT_TRUE(fails_with(ErrorCode::kIo, fs->sync_file(file)));
  EXPECT_TRUE(fails_with(ErrorCode::kIo, fs->flush_file(file))) << "close(2) tells, too";
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs->create(kRootInode, "new", 0644, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs->write(kept, 0, bytes_of("x"), {}, nullptr)));
  EXPECT_EQ(fs.content(kept), "text");
  EXPECT_TRUE(fails_with(ErrorCode::kIo, fs->close()));
  EXPECT_THAT(fs.after_crash()->names(kRootInode), ElementsAre(".", "..", "kept"));
}

TEST(Filesystem, ManyThreadsLeaveAConsistentTree) {
  FilesystemOptions options;
  options.commit_interval = std::chrono::milliseconds(20);
  options.dirty_bytes = 1 << 20;
  TestFilesystem fs(options);
  constexpr int kDirectories = 3;
  std::vector<InodeNumber> directories;
  for (int i = 0; i < kDirectories; ++i) directories.push_back(fs.make_directory(kRootInode, "d" + std::to_string(i)));
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      std::uint64_t random = thread + 1;
      const auto next = [&](std::uint64_t limit) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        return (random >> 33) % limit;
      };
      for (int step = 0; step < 800; ++step) {
        const InodeNumber directory = directories[next(kDirectories)];
        const InodeNumber other = directories[next(kDirectories)];
        const std::string name = std::to_string(next(20));
        switch (next(9)) {
          case 0:
          case 1:
            if (const auto made = fs->create(directory, name, 0644, {})) {
              (void)fs->open_file(made->inode, false, {});
              (void)fs->write(made->inode, next(100'000), bytes_of(random_bytes(next(30'000) + 1, random)), {},
                              nullptr);
              fs->release_file(made->inode, true);
              fs->forget(made->inode, 1);
            }
            break;
          case 2: (void)fs->unlink(directory, name); break;
          case 3:
            (void)fs->rename(directory, name, other, std::to_string(next(20)), Filesystem::RenameMode::kReplace);
            break;
          case 4:
            (void)fs->rename(directory, name, other, std::to_string(next(20)), Filesystem::RenameMode::kExchange);
            break;
          case 5: {
            const auto made = fs->make_directory(directory, name, 0755, {});
            if (made) fs->forget(made->inode, 1);
            break;
          }
          case 6: (void)fs->remove_directory(directory, name); break;
          case 7:
            if (const auto found = fs->lookup(directory, name)) {
              if (fs->make_link(found->inode, other, std::to_string(next(20)))) fs->forget(found->inode, 1);
              (void)fs->read(found->inode, 0, 1 << 20);
              fs->forget(found->inode, 1);
            }
            break;
          default: {
            std::vector<InodeNumber> referenced;
            EXPECT_TRUE(ok(fs->read_directory(directory, 0, true, [&](const DirectoryEntry& entry) {
              if (entry.counted) referenced.push_back(entry.attributes.inode);
              return true;
            })));
            for (const InodeNumber inode : referenced) fs->forget(inode, 1);
            if (next(10) == 0) {
              EXPECT_TRUE(ok(fs->sync()));
            }
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  fs.reopen();

  std::map<InodeNumber, std::uint32_t> names;
  std::uint64_t inodes = 1;
  const std::function<void(InodeNumber)> walk = [&](InodeNumber directory) {
    std::uint32_t subdirectories = 0;
    for (const DirectoryEntry& entry : fs.list(directory, 2)) {
      const Attributes attributes = fs.attributes(entry.attributes.inode);
      inodes += names[attributes.inode]++ == 0;
      if (!is_directory(attributes.mode)) {
        fs.content(attributes.inode);
        continue;
      }
      ++subdirectories;
      EXPECT_EQ(attributes.parent, directory);
      walk(attributes.inode);
    }
    EXPECT_EQ(fs.attributes(directory).links, 2 + subdirectories);
  };
  walk(kRootInode);
  for (const auto& [inode, count] : names)
    EXPECT_EQ(is_directory(fs.attributes(inode).mode) ? 1 : fs.attributes(inode).links, count);
  EXPECT_TRUE(fs.inodes_become(inodes));
}

}  // namespace
}  // namespace dedupfs
