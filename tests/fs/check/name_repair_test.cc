// Names that lead nowhere, elsewhere or twice, and "lost+found".
#include <gmock/gmock.h>

#include "damaged_namespace.h"
#include "store/metadata/before_images.h"

namespace dedupfs {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class NameRepairTest : public NamespaceRepairTest {};

TEST_F(NameRepairTest, TypeOfANameIsThatOfItsInode) {
  Dirent entry = dirent(kRootInode, "tiny");
  entry.type = S_IFLNK;
  put_name(kRootInode, "tiny", entry);

  repair(FsckOptions::Mode::kSafe);

  EXPECT_TRUE(is_as_before());
}

TEST_F(NameRepairTest, NameThatLeadsNowhereIsDropped) {
  put_name(kRootInode, "ghost", {.inode = 9999, .type = S_IFREG, .cookie = 1000});

  EXPECT_THAT(repair().lines, Contains(HasSubstr("lost: name 'ghost' in directory 1: inode 9999 is lost")));
  EXPECT_TRUE(is_as_before());
}

TEST_F(NameRepairTest, SecondNameOfADirectoryIsDropped) {
  put_name(kRootInode, "again", {.inode = inode_of("/folder/below"), .type = S_IFDIR, .cookie = 1000});

  repair();

  EXPECT_TRUE(is_as_before());
}

TEST_F(NameRepairTest, TwoNamesAtOnePlaceGetOneEach) {
  Dirent entry = dirent(kRootInode, "tiny");
  entry.cookie = dirent(kRootInode, "sparse").cookie;
  volume_.put(Family::kDirents, encode_dirent_key(kRootInode, "tiny"), encode_dirent(entry));

  repair(FsckOptions::Mode::kSafe);

  EXPECT_TRUE(is_as_before());
}

TEST_F(NameRepairTest, FileWithoutANameIsInLostAndFound) {
  erase_name(kRootInode, "tiny");

  repair(FsckOptions::Mode::kSafe);

  EXPECT_TRUE(has_content_as_before("/lost+found/#" + std::to_string(inode_of("/tiny")), "/tiny"));
  EXPECT_EQ(tree_.entries.at("/lost+found").mode, std::uint32_t{S_IFDIR | 0700});
}

TEST_F(NameRepairTest, FileThatIsCalledLostAndFoundIsRespected) {
  const Dirent entry = dirent(kRootInode, "sparse");
  erase_name(kRootInode, "sparse");
  put_name(kRootInode, "lost+found", entry);
  erase_name(kRootInode, "tiny");

  repair(FsckOptions::Mode::kSafe);

  EXPECT_TRUE(has_content_as_before("/lost+found", "/sparse"));
  EXPECT_TRUE(has_content_as_before("/lost+found.1/#" + std::to_string(inode_of("/tiny")), "/tiny"));
}

// ---------------------------------------------------------------- on records in memory

struct NameRepair : testing::Test {
  RecordsInMemory records;
  ChunkTable chunks;
  EmptyIndex index;
  NamespaceRepairScope scope;

  NameRepair() { records.put_inode(kRootInode, S_IFDIR | 0755); }
  void repair() { ASSERT_TRUE(ok(repair_namespace(records, chunks, *index, index.log(), scope))); }
};

// Counting up from there would take for ever.
TEST_F(NameRepair, APlaceThatIsFarTooFarIsGivenAnew) {
  records.put_inode(10, S_IFREG | 0644);
  records.put_inode(11, S_IFREG | 0644);
  records.put_name(kRootInode, "far", {.inode = 10, .type = S_IFREG, .cookie = kLastCookie});
  records.put_name(kRootInode, "near", {.inode = 11, .type = S_IFREG, .cookie = 7});

  repair();

  EXPECT_EQ(index.dirent(kRootInode, "far")->cookie, 8u);
  EXPECT_EQ(index.inode(kRootInode).attributes.next_cookie, 9u);
  EXPECT_EQ(index.records(Family::kCookies).size(), 2u);
  EXPECT_THAT(index.repaired, Contains(HasSubstr("name 'far' in directory 1: its place in the order")));
}

TEST_F(NameRepair, ANameThatLeadsToTheRootIsDropped) {
  records.put_name(kRootInode, "up", {.inode = kRootInode, .type = S_IFDIR, .cookie = 3});

  repair();

  EXPECT_FALSE(index.dirent(kRootInode, "up"));
  EXPECT_THAT(index.lost, ElementsAre(HasSubstr("it leads to the root directory")));
}

TEST_F(NameRepair, ANameBelowAFileIsDropped) {
  records.put_inode(10, S_IFREG | 0644);
  records.put_name(kRootInode, "file", {.inode = 10, .type = S_IFREG, .cookie = 3});
  records.put_name(10, "below", {.inode = 10, .type = S_IFREG, .cookie = 3});

  repair();

  EXPECT_THAT(index.lost, ElementsAre(HasSubstr("there is no such directory")));
  EXPECT_EQ(index.inode(10).attributes.links, 1u);
}

TEST_F(NameRepair, ANameThatLostAndFoundHasAlreadyIsNotReplaced) {
  records.put_inode(10, S_IFDIR | 0700);
  records.put_inode(11, S_IFREG | 0644);
  records.put_inode(12, S_IFREG | 0644);
  records.put_name(kRootInode, "lost+found", {.inode = 10, .type = S_IFDIR, .cookie = 3});
  records.put_name(10, "#12", {.inode = 11, .type = S_IFREG, .cookie = 3});

  repair();

  EXPECT_EQ(index.dirent(10, "#12")->inode, 11u);
  EXPECT_EQ(index.dirent(10, "#12.1")->inode, 12u);
  EXPECT_EQ(index.inode(10).attributes.size, 2 * kDirectoryEntryBytes);
}

// A number that was given away may be known elsewhere.
TEST_F(NameRepair, LostAndFoundGetsANumberThatNothingHad) {
  records.put_inode(10, S_IFREG | 0644);
  records.put(Family::kCounters, std::string(kNextInodeCounter), encode_counter(500));

  repair();

  EXPECT_EQ(index.dirent(kRootInode, "lost+found")->inode, 500u);
  EXPECT_EQ(index.dirent(500, "#10")->inode, 10u);
}

TEST_F(NameRepair, SnapshotsGetTheStateBeforeLostAndFound) {
  records.put_inode(10, S_IFREG | 0644);
  scope.preservation = Preservation{.number = 4, .end_of_inodes = 700, .newer_deleted = {}};

  repair();

  EXPECT_EQ(index.dirent(kRootInode, "lost+found")->inode, 700u) << "none of a snapshot has this number";
  const auto image_of = [&](Family family, const std::string& key) {
    const auto image = index.get(Family::kBeforeImages, encode_before_image_key(family, key, 4));
    EXPECT_TRUE(image);
    return image ? value_of(decode_before_image(*image)) : std::nullopt;
  };
  EXPECT_EQ(image_of(Family::kDirents, encode_dirent_key(kRootInode, "lost+found")), std::nullopt);
  const auto root = image_of(Family::kInodes, encode_inode_key(kRootInode));
  ASSERT_TRUE(root);
  EXPECT_EQ(value_of(decode_inode(kRootInode, *root)).attributes.links, 2u);
  EXPECT_EQ(index.inode(kRootInode).attributes.links, 3u);
  EXPECT_TRUE(image_of(Family::kInodes, encode_inode_key(10)));
}

}  // namespace
}  // namespace dedupfs
