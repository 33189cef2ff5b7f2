#include "store/seal/sealed_folder.h"

#include "store/seal/sealed_volume.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using SealedFolderTest = SealedVolume;

TEST_F(SealedFolderTest, ShowsThePlainVolumeAndHidesItsOwnFiles) {
  const auto folder = open().value();
  EXPECT_EQ(folder->list().value(), (std::vector<std::string>{"containers", "index", "superblock.json"}));
  EXPECT_EQ(read_file(*folder, kSuperblockFile, 1000).value(), "settings of the volume");
  EXPECT_EQ(content(*folder, "one"), "content of one");
  EXPECT_TRUE(differences_.empty());
  EXPECT_EQ(real_->list().value(), (std::vector<std::string>{"containers", "index", "settings", "superblock.copy.json",
                                                             "superblock.json", "unmounted", "unmounted.copy"}));
}

TEST_F(SealedFolderTest, NoContentIsOnTheDisk) {
  for (const auto& [id, text] : disk_->image().contents) {
    EXPECT_EQ(text->find("content of"), std::string::npos);
    EXPECT_EQ(text->find("settings of"), std::string::npos);
  }
}

TEST_F(SealedFolderTest, RenamedAndRemovedFilesAreNotedAsTheyAre) {
  {
    const auto folder = open().value();
    const auto index = folder->open_folder(kIndexDirectory).value();
    fill(*index, "000001.dbtmp", "MANIFEST-000001");
    ASSERT_TRUE(index->rename("000001.dbtmp", *index, "CURRENT"));
    const auto containers = folder->open_folder(kContainersDirectory).value();
    ASSERT_TRUE(containers->unlink("two"));
    EXPECT_EQ(containers->rename("one", *containers, "another").error().code(), ErrorCode::kInvalidArgument)
        << "its keys would be lost";
  }
  const auto folder = open().value();
  EXPECT_TRUE(differences_.empty()) << differences_[0];
  EXPECT_EQ(read_file(*folder->open_folder(kIndexDirectory).value(), "CURRENT", 100).value(), "MANIFEST-000001");
}

TEST_F(SealedFolderTest, FilesOfARenamedFolderCanBeReadAndAreNoted) {
  const TempDir directory;
  real_ = Backing::posix()->open_root(directory.path()).value();
  {
    const auto folder = create_sealed_folder(real_, key_);
    ASSERT_TRUE(folder->make_folder("index.repair"));
    fill(*folder->open_folder("index.repair").value(), "000001.sst", "a table");
    ASSERT_TRUE(folder->rename("index.repair", *folder, kIndexDirectory));
    EXPECT_EQ(read_file(*folder->open_folder(kIndexDirectory).value(), "000001.sst", 100).value(), "a table");
  }
  const auto folder = open().value();
  EXPECT_TRUE(differences_.empty()) << differences_[0];
  ASSERT_TRUE(real_->open_folder(kIndexDirectory).value()->unlink("000001.sst"));
  ASSERT_TRUE(open());
  EXPECT_EQ(differences_.size(), 1u) << "the record has the new name";
}

TEST_F(SealedFolderTest, TheLockIsHeldUntilTheListIsWritten) {
  auto folder = open().value();
  auto lock = folder->open(kLockFile, Backing::Mode::kOpenOrCreate).value();
  ASSERT_TRUE(lock->try_lock(BackingFile::LockMode::kExclusive).value());
  lock.reset();
  const auto other = real_->open(kLockFile, Backing::Mode::kRead).value();
  EXPECT_FALSE(other->try_lock(BackingFile::LockMode::kShared).value());
  folder.reset();
  EXPECT_TRUE(other->try_lock(BackingFile::LockMode::kShared).value());
}

TEST_F(SealedFolderTest, WhatStandsElsewhereIsSealedToo) {
  const auto folder = open().value();
  const auto disk = std::make_shared<MemoryDisk>();
  {
    const auto scratch = sealed_like(*folder, disk->open_root("/").value());
    fill(*scratch, "table", "content of elsewhere");
    EXPECT_EQ(read_file(*scratch, "table", 100).value(), "content of elsewhere");
  }
  for (const auto& [id, text] : disk->image().contents) EXPECT_EQ(text->find("content of"), std::string::npos);
  EXPECT_EQ(disk->open_root("/").value()->list().value(), std::vector<std::string>{"table"});
}

}  // namespace
}  // namespace dedupfs
