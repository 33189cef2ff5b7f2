// What RocksDB relies on of its file system, on a disk in memory.
#include "index/backing_filesystem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/memory_disk.h"

namespace dedupfs {
namespace {

using rocksdb::IOStatus;
using testing::ElementsAre;
using Kind = DiskEvent::Kind;

class BackingFilesystemTest : public testing::Test {
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
  std::string content_of(const std::string& name) {
    return read_file(**disk_->open_root("/"), name.substr(1), 1 << 20).value();
  }
  std::vector<Kind> kinds_since(std::size_t position) const {
    const std::vector<DiskEvent> events = disk_->events();
    std::vector<Kind> kinds;
    for (std::size_t i = position; i < events.size(); ++i) kinds.push_back(events[i].kind);
    return kinds;
  }
  void fail(const std::string& wanted, ErrorCode code, std::size_t partial_bytes = 0) {
    disk_->set_fault([=](std::string_view operation, const Path&) -> std::optional<MemoryDisk::Fault> {
      if (operation != wanted) return std::nullopt;
      return MemoryDisk::Fault{Error{code, "told to fail"}, partial_bytes};
    });
  }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::shared_ptr<LostAppends> lost_ = std::make_shared<LostAppends>(0);
  std::shared_ptr<rocksdb::FileSystem> filesystem_ = make_backing_filesystem(disk_->open_root("/").value(), lost_);
};

TEST_F(BackingFilesystemTest, AppendingGoesOnAtTheEndAndOnlySyncMakesItDurable) {
  const auto file = make("/db/a");
  const std::size_t begin = disk_->event_count();

  ASSERT_TRUE(file->Append("hello, ", {}, nullptr).ok());
  ASSERT_TRUE(file->Append("world", {}, nullptr).ok());
  ASSERT_TRUE(file->Flush({}, nullptr).ok());
  EXPECT_THAT(kinds_since(begin), ElementsAre(Kind::kWrite, Kind::kWrite));
  ASSERT_TRUE(file->Sync({}, nullptr).ok());

  EXPECT_THAT(kinds_since(begin), ElementsAre(Kind::kWrite, Kind::kWrite, Kind::kDatasync));
  EXPECT_EQ(content_of("/db/a"), "hello, world");
  EXPECT_EQ(file->GetFileSize({}, nullptr), 12U);
}

TEST_F(BackingFilesystemTest, AFileMadeAgainBeginsEmptyAndAReopenedOneGoesOn) {
  write("/db/a", "old and long");
  write("/db/a", "new");
  EXPECT_EQ(content_of("/db/a"), "new");

  std::unique_ptr<rocksdb::FSWritableFile> file;
  ASSERT_TRUE(filesystem_->ReopenWritableFile("/db/a", {}, &file, nullptr).ok());
  ASSERT_TRUE(file->Append("er", {}, nullptr).ok());

  EXPECT_EQ(content_of("/db/a"), "newer");
}

TEST_F(BackingFilesystemTest, AnAppendThatFailedIsWrittenOverByTheNext) {
  const auto file = make("/db/a");
  ASSERT_TRUE(file->Append("abc", {}, nullptr).ok());
  fail("write", ErrorCode::kNoSpace, 2);
  ASSERT_FALSE(file->Append("XXXX", {}, nullptr).ok());
  disk_->set_fault(nullptr);

  ASSERT_TRUE(file->Append("defg", {}, nullptr).ok());

  EXPECT_EQ(content_of("/db/a"), "abcdefg");
}

TEST_F(BackingFilesystemTest, TruncatingMovesTheEndToWhichIsAppended) {
  const auto file = make("/db/a");
  ASSERT_TRUE(file->Append("abcdef", {}, nullptr).ok());

  ASSERT_TRUE(file->Truncate(3, {}, nullptr).ok());
  ASSERT_TRUE(file->Append("X", {}, nullptr).ok());

  EXPECT_EQ(content_of("/db/a"), "abcX");
}

TEST_F(BackingFilesystemTest, NothingIsWrittenOrSyncedAfterClose) {
  const auto file = make("/db/a");
  ASSERT_TRUE(file->Close({}, nullptr).ok());

  EXPECT_FALSE(file->Append("a", {}, nullptr).ok());
  EXPECT_FALSE(file->Sync({}, nullptr).ok());
  EXPECT_FALSE(file->Truncate(0, {}, nullptr).ok());
}

TEST_F(BackingFilesystemTest, ReadingBeyondTheEndGivesWhatIsThereAndNoError) {
  write("/db/a.sst", "abcdef");
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  ASSERT_TRUE(filesystem_->NewRandomAccessFile("/db/a.sst", {}, &file, nullptr).ok());
  std::array<char, 10> scratch{};
  rocksdb::Slice result;

  const std::vector<std::pair<std::uint64_t, std::string>> reads{{2, "cdef"}, {6, ""}, {1 << 20, ""}};
  for (const auto& [offset, there] : reads) {
    ASSERT_TRUE(file->Read(offset, scratch.size(), {}, &result, scratch.data(), nullptr).ok());
    EXPECT_EQ(result.ToString(), there) << offset;
  }
}

TEST_F(BackingFilesystemTest, ReadingInSequenceEndsWithNothingAndNoError) {
  write("/db/a", "abcdefgh");
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  ASSERT_TRUE(filesystem_->NewSequentialFile("/db/a", {}, &file, nullptr).ok());
  std::array<char, 3> scratch{};
  rocksdb::Slice result;
  const auto next = [&] {
    EXPECT_TRUE(file->Read(scratch.size(), {}, &result, scratch.data(), nullptr).ok());
    return result.ToString();
  };

  EXPECT_EQ(next(), "abc");
  ASSERT_TRUE(file->Skip(1).ok());
  EXPECT_EQ(next(), "efg");
  EXPECT_EQ(next(), "h");
  EXPECT_EQ(next(), "");
}

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

TEST_F(BackingFilesystemTest, AFullDiskIsNoSpaceAndMayBeTriedAgain) {
  const auto file = make("/db/a");
  fail("write", ErrorCode::kNoSpace);
  const IOStatus full = file->Append("a", {}, nullptr);
  EXPECT_TRUE(full.IsNoSpace());
  EXPECT_TRUE(full.GetRetryable());

  fail("datasync", ErrorCode::kNoSpace);
  EXPECT_TRUE(file->Sync({}, nullptr).IsNoSpace());

  fail("open", ErrorCode::kNoSpace);
  std::unique_ptr<rocksdb::FSWritableFile> other;
  EXPECT_TRUE(filesystem_->NewWritableFile("/db/b", {}, &other, nullptr).IsNoSpace());
}

// RocksDB writes a record that did not fit once more before it begins a new log.
TEST_F(BackingFilesystemTest, ALogEndsBehindWhatWasSyncedWhereItFails) {
  for (const char* const operation : {"write", "datasync"}) {
    const auto log = make("/db/000007.log");
    ASSERT_TRUE(log->Append("synced", {}, nullptr).ok());
    ASSERT_TRUE(log->Sync({}, nullptr).ok());
    ASSERT_TRUE(log->Append("begun", {}, nullptr).ok());
    disk_->set_fault(
        [&, failed = false](std::string_view asked, const Path&) mutable -> std::optional<MemoryDisk::Fault> {
          if (asked != operation || std::exchange(failed, true)) return std::nullopt;
          return MemoryDisk::Fault{Error{ErrorCode::kNoSpace, "told to fail"}, 3};
        });
    const bool writes = operation == std::string("write");
    EXPECT_TRUE((writes ? log->Append("ended", {}, nullptr) : log->Sync({}, nullptr)).IsNoSpace());
    const std::uint64_t lost = *lost_;

    EXPECT_TRUE(log->Append("ended", {}, nullptr).ok());
    EXPECT_TRUE(log->Sync({}, nullptr).ok());

    EXPECT_EQ(*lost_, lost + 1);
    EXPECT_EQ(content_of("/db/000007.log"), "synced") << operation;
    EXPECT_EQ(disk_->events().back().kind, Kind::kDatasync) << operation;
  }
}

TEST_F(BackingFilesystemTest, ALogThatCannotBeCutOffIsNotGoneOnWith) {
  const auto log = make("/db/000007.log");
  ASSERT_TRUE(log->Append("begun", {}, nullptr).ok());
  fail("datasync", ErrorCode::kNoSpace);

  const IOStatus synced = log->Sync({}, nullptr);

  EXPECT_TRUE(synced.IsIOError());
  EXPECT_FALSE(synced.IsNoSpace());
}

// RocksDB does not go on after a log that it could not begin.
TEST_F(BackingFilesystemTest, ALogForWhichThereIsNoSpaceFailsWhenItIsWrittenTo) {
  fail("open", ErrorCode::kNoSpace);
  const auto log = make("/db/000007.log");
  ASSERT_NE(log, nullptr);
  EXPECT_TRUE(log->Sync({}, nullptr).ok());

  EXPECT_TRUE(log->Append("a", {}, nullptr).IsNoSpace());
  EXPECT_TRUE(filesystem_->FileExists("/db/000007.log", {}, nullptr).IsNotFound());
}

TEST_F(BackingFilesystemTest, ABrokenDiskIsAnErrorThatIsNotTriedAgain) {
  const auto file = make("/db/a");
  for (const char* const operation : {"write", "datasync", "truncate"}) {
    fail(operation, ErrorCode::kIo);
    const IOStatus status = operation == std::string("write")      ? file->Append("a", {}, nullptr)
                            : operation == std::string("datasync") ? file->Sync({}, nullptr)
                                                                   : file->Truncate(0, {}, nullptr);
    EXPECT_TRUE(status.IsIOError()) << operation;
    EXPECT_FALSE(status.IsNoSpace()) << operation;
    EXPECT_FALSE(status.GetRetryable()) << operation;
  }
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
