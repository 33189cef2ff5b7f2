#include "store/seal/sealed_names.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

TEST(SealedNames, TheSuperblockOfThePlainVolumeHasAnotherNameOnTheDisk) {
  for (const std::string_view name :
       {"superblock.json", "superblock.copy.json", "superblock.json.new", "superblock.copy.json.new", "containers"})
    EXPECT_EQ(name_in_volume(name_on_disk(name)), name);
  EXPECT_EQ(name_on_disk("superblock.json"), "settings");
  for (const std::string_view hidden : {"superblock.json", "superblock.copy.json", "unmounted", "unmounted.new"})
    EXPECT_EQ(name_in_volume(hidden), "");
}

TEST(SealedNames, FilesThatRocksdbAndRepairsRenameKeepTheirKeys) {
  EXPECT_EQ(place_of("index/000001.dbtmp"), place_of("index/CURRENT"));
  EXPECT_EQ(place_of("index/OPTIONS-000007.dbtmp"), place_of("index/OPTIONS-000007"));
  EXPECT_EQ(place_of("index.repair/000012.sst"), place_of("index/000012.sst"));
  EXPECT_EQ(place_of("checkpoints/unfinished"), place_of("checkpoints/0000000001.checkpoint"));
  EXPECT_EQ(place_of("settings.new"), place_of("settings"));
  EXPECT_EQ(place_of("index.salvage/CURRENT.new"), place_of("index.salvage/CURRENT"));
}

TEST(SealedNames, OtherFilesCannotStandInEachOthersPlaces) {
  EXPECT_NE(place_of("index/000012.sst"), place_of("index/000013.sst"));
  EXPECT_NE(place_of("index/000012.log"), place_of("index/000013.log"));
  EXPECT_NE(place_of("containers/0000000001.container"), place_of("containers/0000000002.container"));
  EXPECT_NE(place_of("settings"), place_of("settings.copy"));
  EXPECT_NE(place_of("index/CURRENT"), place_of("index/MANIFEST-000004"));
}

TEST(SealedNames, FewFilesAreClear) {
  EXPECT_TRUE(is_clear("lock"));
  EXPECT_TRUE(is_clear("ballast"));
  EXPECT_TRUE(is_clear("control.sock"));
  EXPECT_FALSE(is_clear("superblock.json"));
  EXPECT_TRUE(is_noted_in_root("settings"));
  EXPECT_FALSE(is_noted_in_root("lock"));
  EXPECT_TRUE(is_noted_folder("containers"));
  EXPECT_TRUE(is_noted_folder("index.damaged"));
  EXPECT_TRUE(is_noted("index.repair/000012.sst"));
  EXPECT_TRUE(is_noted("settings.copy"));
  EXPECT_FALSE(is_noted("unmounted"));
}

TEST(SealedNames, WhatPeopleLeaveInTheFolderIsNotTheVolumes) {
  for (const std::string_view own :
       {"superblock.json", "superblock.copy.json", "settings", "unmounted.copy", "index/MANIFEST-000004",
        "containers/0000000001.container", "checkpoints/0000000001.checkpoint"})
    EXPECT_TRUE(is_volume_file(own)) << own;
  for (const std::string_view other :
       {"superblock.json~", ".nfs0000001", "mykey", "daemon.log", "lock", "remote.json", "superblock.json.new",
        "index/.DS_Store", "containers/.0000000001.container.x", "index.damaged/000012.sst", "photos/1.jpg", ""})
    EXPECT_FALSE(is_volume_file(other)) << other;
  EXPECT_FALSE(is_noted("containers/.DS_Store"));
}

TEST(SealedNames, AFormerIndexMayGo) {
  EXPECT_TRUE(is_of_former_index("index.damaged/000012.sst"));
  EXPECT_TRUE(is_of_former_index("index.damaged2/CURRENT"));
  EXPECT_FALSE(is_of_former_index("index/000012.sst"));
  EXPECT_FALSE(is_of_former_index("containers/0000000001.container"));
}

}  // namespace
}  // namespace dedupfs
