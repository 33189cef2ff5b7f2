// What RocksDB relies on of its file system, on a disk in memory.
#include "index/backing_filesystem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "on_memory_disk.h"

namespace dedupfs {
namespace {

using rocksdb::IOStatus;
using testing::ElementsAre;
using Kind = DiskEvent::Kind;

class BackingFilesystemTest : public OnMemoryDisk {
 protected:
  void SetUp() override { ASSERT_TRUE(filesystem_->CreateDir("/db", {}, nullptr).ok()); }

  std::unique_ptr<rocksdb::FSWritableFile> make(const std::string& name) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    EXPECT_TRUE(filesystem_->NewWritableFile(name, {}, &file, nullptr).ok());
    return file;
  }
  void write(const std::string& name, const std::string& content) {
    EXPECT_TRUE(make(name)->Append(content, {}, nullptr).ok());
  }
  std::string content_of(const std::string& name) { return read_file(*folder_, name.substr(1), 1 << 20).value(); }

  std::shared_ptr<rocksdb::FileSystem> filesystem_ = make_backing_filesystem(folder_);
};

TEST_F(BackingFilesystemTest, ARenameReplacesAndComesAfterTheNamesBeforeIt) {
  write("/db/MANIFEST", "new");
  write("/db/CURRENT", "old");
  const std::size_t begin = disk_->event_count();

  ASSERT_TRUE(filesystem_->RenameFile("/db/MANIFEST", "/db/CURRENT", {}, nullptr).ok());

  EXPECT_EQ(content_of("/db/CURRENT"), "new");
  EXPECT_THAT(kinds_since(begin), ElementsAre(Kind::kSyncDirectory, Kind::kRename));
}

TEST_F(BackingFilesystemTest, NothingIsRenamedWhereTheNamesBeforeItCannotBeMadeDurable) {
  write("/db/MANIFEST", "new");
  write("/db/CURRENT", "old");
  fail("sync_directory", ErrorCode::kIo);

  EXPECT_TRUE(filesystem_->RenameFile("/db/MANIFEST", "/db/CURRENT", {}, nullptr).IsIOError());

  EXPECT_EQ(content_of("/db/CURRENT"), "old");
}

TEST_F(BackingFilesystemTest, ADirectoryIsSyncedByItsFsync) {
  std::unique_ptr<rocksdb::FSDirectory> directory;
  ASSERT_TRUE(filesystem_->NewDirectory("/db", {}, &directory, nullptr).ok());
  const std::size_t begin = disk_->event_count();

  ASSERT_TRUE(directory->Fsync({}, nullptr).ok());
  EXPECT_THAT(kinds_since(begin), ElementsAre(Kind::kSyncDirectory));

  fail("sync_directory", ErrorCode::kIo);
  EXPECT_FALSE(directory->Fsync({}, nullptr).ok());
}

TEST_F(BackingFilesystemTest, ALockIsExclusiveUntilItIsGivenBack) {
  rocksdb::FileLock* lock = nullptr;
  rocksdb::FileLock* other = nullptr;
  ASSERT_TRUE(filesystem_->LockFile("/db/LOCK", {}, &lock, nullptr).ok());

  const IOStatus refused = filesystem_->LockFile("/db/LOCK", {}, &other, nullptr);
  EXPECT_TRUE(refused.IsIOError());
  EXPECT_THAT(refused.ToString(), testing::HasSubstr("in use"));

  ASSERT_TRUE(filesystem_->UnlockFile(lock, {}, nullptr).ok());
  ASSERT_TRUE(filesystem_->LockFile("/db/LOCK", {}, &other, nullptr).ok());
  ASSERT_TRUE(filesystem_->UnlockFile(other, {}, nullptr).ok());
}

// RocksDB tells a file that is not there from one that cannot be read, and a full disk from a broken one.
TEST_F(BackingFilesystemTest, WhatIsMissingIsNotFound) {
  std::unique_ptr<rocksdb::FSSequentialFile> sequential;
  std::unique_ptr<rocksdb::FSRandomAccessFile> random;
  std::unique_ptr<rocksdb::FSWritableFile> writable;
  std::vector<std::string> names;
  std::uint64_t size = 0;

  EXPECT_TRUE(filesystem_->NewSequentialFile("/db/none", {}, &sequential, nullptr).IsPathNotFound());
  EXPECT_TRUE(filesystem_->NewRandomAccessFile("/db/none.sst", {}, &random, nullptr).IsPathNotFound());
  EXPECT_TRUE(filesystem_->ReopenWritableFile("/db/none", {}, &writable, nullptr).IsPathNotFound());
  EXPECT_TRUE(filesystem_->GetFileSize("/db/none", {}, &size, nullptr).IsPathNotFound());
  EXPECT_TRUE(filesystem_->DeleteFile("/db/none", {}, nullptr).IsPathNotFound());
  EXPECT_TRUE(filesystem_->RenameFile("/db/none", "/db/a", {}, nullptr).IsPathNotFound());
  EXPECT_TRUE(filesystem_->FileExists("/db/none", {}, nullptr).IsNotFound());
  EXPECT_TRUE(filesystem_->GetChildren("/none", {}, &names, nullptr).IsNotFound());
}

TEST_F(BackingFilesystemTest, TellsFilesFromDirectoriesAndListsThem) {
  write("/db/a", "abc");
  ASSERT_TRUE(filesystem_->CreateDirIfMissing("/db/d", {}, nullptr).ok());
  EXPECT_TRUE(filesystem_->CreateDirIfMissing("/db/d", {}, nullptr).ok());
  EXPECT_FALSE(filesystem_->CreateDir("/db/d", {}, nullptr).ok());
  bool is_directory = false;
  std::vector<std::string> names;
  std::uint64_t size = 0;

  EXPECT_TRUE(filesystem_->IsDirectory("/db/d", {}, &is_directory, nullptr).ok());
  EXPECT_TRUE(is_directory);
  EXPECT_TRUE(filesystem_->IsDirectory("/db/a", {}, &is_directory, nullptr).ok());
  EXPECT_FALSE(is_directory);
  EXPECT_TRUE(filesystem_->GetChildren("/db", {}, &names, nullptr).ok());
  EXPECT_THAT(names, ElementsAre("a", "d"));
  EXPECT_TRUE(filesystem_->GetFileSize("/db/a", {}, &size, nullptr).ok());
  EXPECT_EQ(size, 3U);
}

TEST_F(BackingFilesystemTest, TheFreeSpaceIsThatOfTheDisk) {
  disk_->set_space({.total_bytes = 100, .available_bytes = 40});
  std::uint64_t free = 0;

  ASSERT_TRUE(filesystem_->GetFreeSpace("/db", {}, &free, nullptr).ok());

  EXPECT_EQ(free, 40U);
}

}  // namespace
}  // namespace dedupfs
