#include "fs/check/lost_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "damaged_namespace.h"
#include "store/metadata/snapshot_list.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// An index with the directory 10 "/folder", the directory 11 "/folder/below", and files.
struct LostFiles : testing::Test {
  EmptyIndex index;

  LostFiles() {
    put_directory(kRootInode, kRootInode);
    put_directory(10, kRootInode);
    put_directory(11, 10);
    put_name(kRootInode, "folder", 10);
    put_name(10, "below", 11);
  }
  void put(Family family, const std::string& key, const std::string& value) {
    Database::Batch batch(*index);
    batch.put(family, key, value);
    ASSERT_TRUE(ok(index->write(batch)));
  }
  void put_directory(InodeNumber number, InodeNumber parent) {
    InodeRecord record;
    record.attributes.inode = number;
    record.attributes.mode = S_IFDIR | 0755;
    record.attributes.links = 2;
    record.attributes.parent = parent;
    record.attributes.next_cookie = kFirstCookie;
    put(Family::kInodes, encode_inode_key(number), encode_inode(record));
  }
  void put_name(InodeNumber parent, std::string_view name, InodeNumber inode) {
    put(Family::kDirents, encode_dirent_key(parent, name),
        encode_dirent({.inode = inode, .type = S_IFREG, .cookie = kFirstCookie}));
  }
  std::vector<LostFile> lost(const std::vector<std::uint64_t>& inodes) {
    std::map<std::uint64_t, std::vector<LostRange>> ranges;
    for (const std::uint64_t inode : inodes) ranges[inode] = {{0, 10, "damaged"}, {50, 5, "damaged"}};
    return value_of(name_lost_files(*index, ranges));
  }
  std::vector<std::string> paths_of(std::uint64_t inode) { return lost({inode}).at(0).paths; }
};

TEST_F(LostFiles, WhereNothingIsLostThereAreNone) {
  EXPECT_THAT(lost({}), IsEmpty());
}

TEST_F(LostFiles, EachHasAllOfItsNames) {
  put_name(11, "one", 20);
  put_name(kRootInode, "another", 20);
  put_name(10, "other file", 21);

  EXPECT_THAT(paths_of(20), ElementsAre("/another", "/folder/below/one"));
}

TEST_F(LostFiles, ComeInOrderWithTheirRanges) {
  put_name(kRootInode, "a", 21);
  put_name(kRootInode, "b", 20);

  const auto files = lost({21, 20});

  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].inode, 20u);
  EXPECT_THAT(files[0].paths, ElementsAre("/b"));
  EXPECT_EQ(files[0].ranges.size(), 2u);
  EXPECT_EQ(files[0].lost_bytes(), 15u);
}

TEST_F(LostFiles, OneWithoutANameHasItsNumberOnly) {
  const auto files = lost({20});

  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].inode, 20u);
  EXPECT_THAT(files[0].paths, IsEmpty());
}

TEST_F(LostFiles, BelowADirectoryThatIsGoneThePathBeginsSomewhere) {
  put_name(99, "one", 20);

  EXPECT_THAT(paths_of(20), ElementsAre("(lost directory)/#99/one"));
}

TEST_F(LostFiles, ADirectoryWithoutANameIsNamedByItsNumber) {
  put_directory(12, 10);
  put_name(12, "one", 20);

  EXPECT_THAT(paths_of(20), ElementsAre("/folder/#12/one"));
}

TEST_F(LostFiles, ALoopOfDirectoriesHasAnEnd) {
  put_directory(12, 13);
  put_directory(13, 12);
  put_name(12, "a", 13);
  put_name(13, "b", 12);
  put_name(12, "one", 20);

  const auto paths = paths_of(20);

  ASSERT_EQ(paths.size(), 1u);
  EXPECT_TRUE(paths[0].ends_with("/one")) << paths[0].size();
}

TEST_F(LostFiles, ADeepPathIsShortened) {
  InodeNumber parent = kRootInode;
  for (InodeNumber number = 100; number < 130; ++number) {
    put_directory(number, parent);
    put_name(parent, std::string(200, 'x'), number);
    parent = number;
  }
  put_name(parent, "one", 20);

  const auto paths = paths_of(20);

  ASSERT_EQ(paths.size(), 1u);
  EXPECT_TRUE(paths[0].starts_with("(deep below)/")) << paths[0];
  EXPECT_TRUE(paths[0].ends_with("/one"));
}

TEST_F(LostFiles, ADirectoryWithManyNamesIsSearchedToItsEnd) {
  Database::Batch batch(*index);
  for (int i = 0; i < 3000; ++i)
    batch.put(Family::kDirents, encode_dirent_key(10, "a" + std::to_string(i)),
              encode_dirent({.inode = 1000 + static_cast<InodeNumber>(i), .type = S_IFREG, .cookie = kFirstCookie}));
  ASSERT_TRUE(ok(index->write(batch)));
  put_directory(12, 10);
  put_name(10, "z", 12);
  put_name(12, "one", 20);

  EXPECT_THAT(paths_of(20), ElementsAre("/folder/z/one"));
}

TEST_F(LostFiles, RecordsThatDoNotParseAreSkipped) {
  put_name(kRootInode, "one", 20);
  put(Family::kDirents, encode_dirent_key(kRootInode, "damaged"), "\xff");
  put(Family::kInodes, encode_inode_key(10), "\xff");
  put_name(11, "two", 20);

  EXPECT_THAT(paths_of(20), ElementsAre("(lost directory)/#10/below/two", "/one"));
}

TEST_F(LostFiles, InASnapshotTheyAreNamedByTheSnapshot) {
  put(Family::kSnapshots, encode_snapshot_key(3),
      encode_snapshot({.number = 3, .name = "monday", .end_of_inodes = 100}));

  EXPECT_THAT(paths_of(node_of(3, 20)), ElementsAre("/.snapshots/monday/#20"));
  EXPECT_THAT(paths_of(node_of(4, 20)), ElementsAre("/.snapshots/#4/#20"));
}

}  // namespace
}  // namespace dedupfs
