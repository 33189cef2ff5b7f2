// What is counted again, and attributes, recipes and orphans of a repaired namespace.
#include <gmock/gmock.h>

#include "damaged_namespace.h"

namespace dedupfs {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class InodeRepairTest : public NamespaceRepairTest {};

TEST_F(InodeRepairTest, WhatCanBeCountedIsCounted) {
  InodeRecord record = inode(inode_of("/folder/one"));
  record.attributes.links = 7;
  record.attributes.data_bytes = 5;
  put_inode(inode_of("/folder/one"), record);
  record = inode(inode_of("/folder"));
  record.attributes.links = 9;
  record.attributes.size = 1;
  record.attributes.next_cookie = kFirstCookie;
  record.attributes.parent = 77;
  put_inode(inode_of("/folder"), record);
  record = inode(inode_of("/tiny"));
  record.has_xattrs = false;
  put_inode(inode_of("/tiny"), record);
  volume_.put(Family::kCounters, std::string(kInodesCounter), encode_counter(2));

  repair(FsckOptions::Mode::kSafe);

  EXPECT_TRUE(is_as_before());
}

TEST_F(InodeRepairTest, AttributeOfAMissingInodeIsDropped) {
  volume_.put(Family::kXattrs, encode_xattr_key(9999, "user.lost"), "value");

  repair();

  EXPECT_TRUE(is_as_before());
}

// ---------------------------------------------------------------- on records in memory

struct InodeRepair : testing::Test {
  static constexpr InodeNumber kFile = 10;

  RecordsInMemory records;
  ChunkTable chunks;
  EmptyIndex index;

  InodeRepair() {
    records.put_inode(kRootInode, S_IFDIR | 0755);
    records.put_inode(kFile, S_IFREG | 0644);
    records.put_name(kRootInode, "file", {.inode = kFile, .type = S_IFREG, .cookie = 3});
  }
  void repair() { ASSERT_TRUE(ok(repair_namespace(records, chunks, *index, index.log(), {}))); }
  void put_recipe(InodeNumber inode, const std::string& bytes) {
    records.put(Family::kRecipes, encode_recipe_key(inode, 0),
                encode_segment({{.kind = RecipeEntry::Kind::kInline, .length = bytes.size(), .bytes = bytes}}));
  }
  std::uint64_t counter(std::string_view name) const {
    return value_of(decode_counter(name, index.get(Family::kCounters, std::string(name)).value()));
  }
};

TEST_F(InodeRepair, ARecordOfWhichNothingIsWrongStays) {
  records.put_inode(kRootInode, S_IFDIR | 0755, [](InodeRecord& record) {
    record.attributes.size = kDirectoryEntryBytes;
    record.attributes.next_cookie = 4;
  });
  records.put_inode(kFile, S_IFREG | 04711, [](InodeRecord& record) {
    record.attributes.uid = 7;
    record.attributes.mtime = {.seconds = 100, .nanoseconds = 5};
  });

  repair();

  EXPECT_THAT(index.repaired, IsEmpty());
  EXPECT_THAT(index.lost, IsEmpty());
  const Attributes file = index.inode(kFile).attributes;
  EXPECT_EQ(file.mode, std::uint32_t{S_IFREG | 04711});
  EXPECT_EQ(file.uid, 7u);
  EXPECT_EQ(file.mtime, (Timestamp{.seconds = 100, .nanoseconds = 5}));
}

TEST_F(InodeRepair, WhatChangesIsNamed) {
  records.put_inode(kFile, S_IFREG | 0644, [](InodeRecord& record) { record.attributes.links = 3; });

  repair();

  EXPECT_THAT(index.repaired, Contains("inode 10: links 3 to 1"));
}

TEST_F(InodeRepair, TheSizeCoversTheContent) {
  put_recipe(kFile, "content");

  repair();

  EXPECT_EQ(index.inode(kFile).attributes.size, 7u);
  EXPECT_EQ(index.inode(kFile).attributes.data_bytes, 7u);
}

// The file may end with a hole.
TEST_F(InodeRepair, ALargerSizeStays) {
  records.put_inode(kFile, S_IFREG | 0644, [](InodeRecord& record) { record.attributes.size = 5000; });

  repair();

  EXPECT_EQ(index.inode(kFile).attributes.size, 5000u);
  EXPECT_THAT(index.lost, IsEmpty());
}

TEST_F(InodeRepair, DataWithoutARecipeAreLost) {
  records.put_inode(kFile, S_IFREG | 0644, [](InodeRecord& record) {
    record.attributes.size = 5000;
    record.attributes.data_bytes = 100;
  });

  repair();

  EXPECT_THAT(index.lost, ElementsAre("inode 10 at 0, 5000 bytes: the end of the recipe is missing"));
  const auto recipe = index.records(Family::kRecipes);
  ASSERT_EQ(recipe.size(), 1u);
  EXPECT_EQ(value_of(decode_segment(recipe[0].second))[0].chunk, kLostChunk);
}

TEST_F(InodeRepair, ContentOfADirectoryIsDropped) {
  put_recipe(kRootInode, "content");

  repair();

  EXPECT_THAT(index.records(Family::kRecipes), IsEmpty());
  EXPECT_THAT(index.lost, ElementsAre(HasSubstr("content, but it is not a file")));
}

// The next mount deletes it.
TEST_F(InodeRepair, AnOrphanStaysOneWithoutItsContent) {
  records.put_inode(11, S_IFREG | 0644, [](InodeRecord& record) { record.attributes.links = 5; });
  records.put(Family::kOrphans, encode_inode_key(11), "");
  put_recipe(11, "content");

  repair();

  EXPECT_EQ(index.records(Family::kOrphans).size(), 1u);
  EXPECT_EQ(index.inode(11).attributes.links, 0u);
  EXPECT_THAT(index.records(Family::kRecipes), IsEmpty());
  EXPECT_THAT(index.lost, IsEmpty());
}

TEST_F(InodeRepair, AnAttributeThatIsTooLargeIsDropped) {
  records.put(Family::kXattrs, encode_xattr_key(kFile, "user.large"), std::string(kMaxXattrValue + 1, 'x'));
  records.put(Family::kXattrs, encode_xattr_key(kFile, "user.largest"), std::string(kMaxXattrValue, 'x'));

  repair();

  ASSERT_EQ(index.records(Family::kXattrs).size(), 1u);
  EXPECT_THAT(index.lost, ElementsAre("attribute 'user.large' of inode 10"));
  EXPECT_TRUE(index.inode(kFile).has_xattrs) << "its record said that it has none";
  EXPECT_THAT(index.repaired, Contains("inode 10 has the attribute 'user.largest'"));
}

TEST_F(InodeRepair, AFileWhoseRecordIsLostBelongsToRoot) {
  put_recipe(12, "content");

  repair();

  const Attributes made = index.inode(12).attributes;
  EXPECT_EQ(made.mode, std::uint32_t{S_IFREG | 0600});
  EXPECT_EQ(made.uid, 0u);
  EXPECT_EQ(made.size, 7u);
  EXPECT_GT(made.mtime.seconds, 0);
}

TEST_F(InodeRepair, NoNumberIsGivenAwayAgain) {
  records.put(Family::kCounters, std::string(kNextInodeCounter), encode_counter(400));

  repair();

  EXPECT_EQ(counter(kNextInodeCounter), 400u);
  EXPECT_EQ(counter(kInodesCounter), 2u);
}

// Otherwise no inode could be made any more.
TEST_F(InodeRepair, ANumberBeyondAllInodesIsNotBelieved) {
  records.put(Family::kCounters, std::string(kNextInodeCounter), encode_counter(kLastInode + 1));

  repair();

  EXPECT_EQ(counter(kNextInodeCounter), kFile + 1);
}

TEST_F(InodeRepair, ACounterThatDoesNotParseIsCountedAgain) {
  records.put(Family::kCounters, std::string(kNextInodeCounter), "\xff");

  repair();

  EXPECT_EQ(counter(kNextInodeCounter), kFile + 1);
}

}  // namespace
}  // namespace dedupfs
