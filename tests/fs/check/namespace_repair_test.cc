#include "fs/check/namespace_repair.h"

#include <gmock/gmock.h>

#include "damaged_namespace.h"

namespace dedupfs {
namespace {

TEST_F(NamespaceRepairTest, DirectoryBelowItselfIsMovedToLostAndFoundWithAllThatIsInIt) {
  const InodeNumber folder = inode_of("/folder");
  const InodeNumber below = inode_of("/folder/below");
  erase_name(kRootInode, "folder");
  put_name(below, "folder", {.inode = folder, .type = S_IFDIR, .cookie = 1000});
  InodeRecord record = inode(folder);
  record.attributes.parent = below;
  put_inode(folder, record);

  repair();

  const std::string top = "/lost+found/#" + std::to_string(folder);
  EXPECT_TRUE(has_content_as_before(top + "/one", "/folder/one"));
  EXPECT_TRUE(has_content_as_before(top + "/below/two", "/folder/below/two"));
}

TEST_F(NamespaceRepairTest, DirectoryWhoseInodeIsLostKeepsItsNameAndItsEntries) {
  volume_.put(Family::kInodes, encode_inode_key(inode_of("/folder")), "\x07");

  repair();

  EXPECT_TRUE(has_content_as_before("/folder/one", "/folder/one"));
  EXPECT_TRUE(has_content_as_before("/folder/below/two", "/folder/below/two"));
}

TEST_F(NamespaceRepairTest, RootIsMadeAnewWhereItIsLost) {
  volume_.erase(Family::kInodes, encode_inode_key(kRootInode));

  repair();

  EXPECT_TRUE(is_as_before());
}

TEST_F(NamespaceRepairTest, OrphanThatHasANameIsNone) {
  volume_.put(Family::kOrphans, encode_inode_key(inode_of("/tiny")), "");
  volume_.put(Family::kOrphans, encode_inode_key(9999), "");

  repair(FsckOptions::Mode::kSafe);

  EXPECT_TRUE(is_as_before());
}

// A record of each family is replaced by random bytes, or by a record with random bytes in it.
TEST_F(NamespaceRepairTest, WhateverARecordSaysTheRepairedVolumeIsSound) {
  std::mt19937_64 random(4711);
  for (const Family family : {Family::kInodes, Family::kDirents, Family::kCookies, Family::kXattrs, Family::kRecipes,
                              Family::kOrphans, Family::kChunks, Family::kFingerprints}) {
    for (int round = 0; round < 2; ++round) {
      const DamagedVolume volume;
      const auto records = volume.records(family);
      std::string key = records.empty() ? noise(8, random()) : records[random() % records.size()].first;
      std::string value = records.empty() ? "" : records[random() % records.size()].second;
      if (round == 1) key = noise(key.size(), random());
      for (int i = 0; i < 2 && !value.empty(); ++i) value[random() % value.size()] = static_cast<char>(random());
      SCOPED_TRACE(std::string(name_of(family)) + ", round " + std::to_string(round));
      volume.put(family, key, value);

      volume.fsck(FsckOptions::Mode::kAll, false);

      const FsckReport checked = volume.fsck(FsckOptions::Mode::kCheck, false);
      EXPECT_EQ(checked.errors_left, 0u) << testing::PrintToString(checked.lines);
      volume.tree();
    }
  }
}

}  // namespace
}  // namespace dedupfs
