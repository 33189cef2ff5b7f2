// The files that RocksDB reads and writes, on a disk in memory.
#include "index/backing_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/coding.h"
#include "index/sealed_manifest.h"
#include "on_memory_disk.h"

namespace dedupfs {
namespace {

using rocksdb::IOStatus;
using testing::ElementsAre;
using testing::HasSubstr;
using Kind = DiskEvent::Kind;

class BackingFilesTest : public OnMemoryDisk {
 protected:
  std::unique_ptr<rocksdb::FSWritableFile> make(const std::string& name) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    EXPECT_TRUE(open_writable(*folder_, name, Backing::Mode::kOpenOrCreate, true, {}, &file).ok());
    return file;
  }
  std::unique_ptr<rocksdb::FSWritableFile> make_log(const std::string& name) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    EXPECT_TRUE(open_log(*folder_, name, lost_, {}, &file).ok());
    return file;
  }
  void write(const std::string& name, const std::string& content) {
    EXPECT_TRUE(make(name)->Append(content, {}, nullptr).ok());
  }
  std::string content_of(const std::string& name) { return read_file(*folder_, name, 1 << 20).value(); }
  // All that is read of it in pieces.
  std::string read_in_sequence(const std::string& name) {
    std::unique_ptr<rocksdb::FSSequentialFile> file;
    EXPECT_TRUE(open_sequential(*folder_, name, &file).ok());
    std::array<char, 7> scratch{};
    std::string all;
    for (rocksdb::Slice piece;; all += piece.ToString()) {
      EXPECT_TRUE(file->Read(scratch.size(), {}, &piece, scratch.data(), nullptr).ok());
      if (piece.empty()) return all;
    }
  }

  std::shared_ptr<LostAppends> lost_ = std::make_shared<LostAppends>(0);
  std::shared_ptr<BlockMemory> memory_ = std::make_shared<BlockMemory>();
};

TEST_F(BackingFilesTest, AppendingGoesOnAtTheEndAndOnlySyncMakesItDurable) {
  const auto file = make("a");
  const std::size_t begin = disk_->event_count();

  ASSERT_TRUE(file->Append("hello, ", {}, nullptr).ok());
  ASSERT_TRUE(file->Append("world", {}, nullptr).ok());
  ASSERT_TRUE(file->Flush({}, nullptr).ok());
  EXPECT_THAT(kinds_since(begin), ElementsAre(Kind::kWrite, Kind::kWrite));
  ASSERT_TRUE(file->Sync({}, nullptr).ok());

  EXPECT_THAT(kinds_since(begin), ElementsAre(Kind::kWrite, Kind::kWrite, Kind::kDatasync));
  EXPECT_EQ(content_of("a"), "hello, world");
  EXPECT_EQ(file->GetFileSize({}, nullptr), 12U);
}

TEST_F(BackingFilesTest, AFileMadeAgainBeginsEmptyAndAReopenedOneGoesOn) {
  write("a", "old and long");
  write("a", "new");
  EXPECT_EQ(content_of("a"), "new");

  std::unique_ptr<rocksdb::FSWritableFile> file;
  ASSERT_TRUE(open_writable(*folder_, "a", Backing::Mode::kReadWrite, false, {}, &file).ok());
  ASSERT_TRUE(file->Append("er", {}, nullptr).ok());

  EXPECT_EQ(content_of("a"), "newer");
}

TEST_F(BackingFilesTest, AnAppendThatFailedIsWrittenOverByTheNext) {
  const auto file = make("a");
  ASSERT_TRUE(file->Append("abc", {}, nullptr).ok());
  fail("write", ErrorCode::kNoSpace, 2);
  ASSERT_FALSE(file->Append("XXXX", {}, nullptr).ok());
  disk_->set_fault(nullptr);

  ASSERT_TRUE(file->Append("defg", {}, nullptr).ok());

  EXPECT_EQ(content_of("a"), "abcdefg");
}

TEST_F(BackingFilesTest, TruncatingMovesTheEndToWhichIsAppended) {
  const auto file = make("a");
  ASSERT_TRUE(file->Append("abcdef", {}, nullptr).ok());

  ASSERT_TRUE(file->Truncate(3, {}, nullptr).ok());
  ASSERT_TRUE(file->Append("X", {}, nullptr).ok());

  EXPECT_EQ(content_of("a"), "abcX");
}

TEST_F(BackingFilesTest, NothingIsWrittenOrSyncedAfterClose) {
  const auto file = make("a");
  ASSERT_TRUE(file->Close({}, nullptr).ok());

  EXPECT_FALSE(file->Append("a", {}, nullptr).ok());
  EXPECT_FALSE(file->Sync({}, nullptr).ok());
  EXPECT_FALSE(file->Truncate(0, {}, nullptr).ok());
}

TEST_F(BackingFilesTest, ReadingBeyondTheEndGivesWhatIsThereAndNoError) {
  write("a.sst", "abcdef");
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  ASSERT_TRUE(open_random_access(*folder_, "a.sst", memory_, &file).ok());
  std::array<char, 10> scratch{};
  rocksdb::Slice result;

  const std::vector<std::pair<std::uint64_t, std::string>> reads{{2, "cdef"}, {6, ""}, {1 << 20, ""}};
  for (const auto& [offset, there] : reads) {
    ASSERT_TRUE(file->Read(offset, scratch.size(), {}, &result, scratch.data(), nullptr).ok());
    EXPECT_EQ(result.ToString(), there) << offset;
  }
}

TEST_F(BackingFilesTest, ReadingInSequenceEndsWithNothingAndNoError) {
  write("a", "abcdefgh");
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  ASSERT_TRUE(open_sequential(*folder_, "a", &file).ok());
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

TEST_F(BackingFilesTest, AFullDiskIsNoSpaceAndMayBeTriedAgain) {
  const auto file = make("a");
  fail("write", ErrorCode::kNoSpace);
  const IOStatus full = file->Append("a", {}, nullptr);
  EXPECT_TRUE(full.IsNoSpace());
  EXPECT_TRUE(full.GetRetryable());

  fail("datasync", ErrorCode::kNoSpace);
  EXPECT_TRUE(file->Sync({}, nullptr).IsNoSpace());

  fail("open", ErrorCode::kNoSpace);
  std::unique_ptr<rocksdb::FSWritableFile> other;
  EXPECT_TRUE(open_writable(*folder_, "b", Backing::Mode::kOpenOrCreate, true, {}, &other).IsNoSpace());
}

// RocksDB writes a record that did not fit once more before it begins a new log.
TEST_F(BackingFilesTest, ALogEndsBehindWhatWasSyncedWhereItFails) {
  for (const char* const operation : {"write", "datasync"}) {
    const auto log = make_log("000007.log");
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
    EXPECT_EQ(content_of("000007.log"), "synced") << operation;
    EXPECT_EQ(disk_->events().back().kind, Kind::kDatasync) << operation;
  }
}

TEST_F(BackingFilesTest, ALogThatCannotBeCutOffIsNotGoneOnWith) {
  const auto log = make_log("000007.log");
  ASSERT_TRUE(log->Append("begun", {}, nullptr).ok());
  fail("datasync", ErrorCode::kNoSpace);

  const IOStatus synced = log->Sync({}, nullptr);

  EXPECT_TRUE(synced.IsIOError());
  EXPECT_FALSE(synced.IsNoSpace());
}

// RocksDB does not go on after a log that it could not begin.
TEST_F(BackingFilesTest, ALogForWhichThereIsNoSpaceFailsWhenItIsWrittenTo) {
  fail("open", ErrorCode::kNoSpace);
  const auto log = make_log("000007.log");
  ASSERT_NE(log, nullptr);
  EXPECT_TRUE(log->Sync({}, nullptr).ok());

  EXPECT_TRUE(log->Append("a", {}, nullptr).IsNoSpace());
  EXPECT_EQ(folder_->type("000007.log").value(), Backing::Type::kMissing);
}

TEST_F(BackingFilesTest, ABrokenDiskIsAnErrorThatIsNotTriedAgain) {
  const auto file = make("a");
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

// ---------------------------------------------------------------- files that dedupfs never writes

TEST_F(BackingFilesTest, AFileThatIsTooLargeIsDamageForRocksDb) {
  write("CURRENT", std::string(kMaxSmallFileBytes + 1, 'x'));
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  std::unique_ptr<rocksdb::FSRandomAccessFile> other;

  const IOStatus opened = open_sequential(*folder_, "CURRENT", &file);

  EXPECT_TRUE(opened.IsCorruption());
  EXPECT_THAT(opened.ToString(), HasSubstr("CURRENT"));
  EXPECT_EQ(file, nullptr);
  EXPECT_TRUE(open_random_access(*folder_, "CURRENT", memory_, &other).IsCorruption());
}

// It asserts that.
TEST_F(BackingFilesTest, AnIdentityThatIsTooLargeIsAnErrorOfTheDiskForRocksDb) {
  write("IDENTITY", std::string(kMaxSmallFileBytes + 1, 'x'));
  std::unique_ptr<rocksdb::FSSequentialFile> file;

  const IOStatus opened = open_sequential(*folder_, "IDENTITY", &file);

  EXPECT_TRUE(opened.IsIOError());
  EXPECT_FALSE(opened.IsCorruption());
}

TEST_F(BackingFilesTest, AFileThatCannotBeReadIsNoDamage) {
  write("CURRENT", "MANIFEST-000001\n");
  fail("read", ErrorCode::kIo);
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  ASSERT_TRUE(open_sequential(*folder_, "CURRENT", &file).ok());
  std::array<char, 10> scratch{};
  rocksdb::Slice result;

  const IOStatus read = file->Read(scratch.size(), {}, &result, scratch.data(), nullptr);

  EXPECT_TRUE(read.IsIOError());
  EXPECT_TRUE(result.empty());
}

// ---------------------------------------------------------------- manifests

// As RocksDB frames it: checksum, length, type.
std::string record_of(const std::string& content) {
  std::string record;
  Encoder out(record);
  out.u32(0x12345678);
  out.u16(static_cast<std::uint16_t>(content.size()));
  out.u8(1);
  return record + content;
}

TEST_F(BackingFilesTest, WhatIsAppendedToAManifestIsThereWhenItIsSynced) {
  const auto manifest = make("MANIFEST-000001");
  ASSERT_TRUE(manifest->Append(record_of("one"), {}, nullptr).ok());
  ASSERT_TRUE(manifest->Append(record_of("two"), {}, nullptr).ok());
  EXPECT_EQ(manifest->GetFileSize({}, nullptr), 20u);
  EXPECT_EQ(read_in_sequence("MANIFEST-000001"), "");

  ASSERT_TRUE(manifest->Sync({}, nullptr).ok());

  EXPECT_EQ(read_in_sequence("MANIFEST-000001"), record_of("one") + record_of("two"));
}

TEST_F(BackingFilesTest, AManifestEndsForRocksDbWhereARecordIsNotSealed) {
  std::string torn = record_of("torn");
  torn[6] = 0;
  write("sealed", record_of("one") + torn);
  ASSERT_TRUE(folder_->rename("sealed", *folder_, "MANIFEST-000001"));

  EXPECT_EQ(read_in_sequence("MANIFEST-000001"), record_of("one"));
}

TEST_F(BackingFilesTest, AManifestThatIsReopenedGoesOnBehindWhatItHas) {
  {
    const auto manifest = make("MANIFEST-000001");
    ASSERT_TRUE(manifest->Append(record_of("one"), {}, nullptr).ok());
    ASSERT_TRUE(manifest->Sync({}, nullptr).ok());
  }
  std::unique_ptr<rocksdb::FSWritableFile> manifest;
  ASSERT_TRUE(open_writable(*folder_, "MANIFEST-000001", Backing::Mode::kReadWrite, false, {}, &manifest).ok());
  ASSERT_TRUE(manifest->Append(record_of("two"), {}, nullptr).ok());
  ASSERT_TRUE(manifest->Sync({}, nullptr).ok());

  EXPECT_EQ(read_in_sequence("MANIFEST-000001"), record_of("one") + record_of("two"));
}

// ---------------------------------------------------------------- tables

class TableFileTest : public BackingFilesTest {
 protected:
  // `content`, and what a table must have behind it: a directory of no blocks, and a footer.
  std::unique_ptr<rocksdb::FSRandomAccessFile> table_of(const std::string& content) {
    std::string table = content;
    Encoder out(table);
    out.u32(0);  // one restart point
    out.u32(1);
    out.bytes(std::string(kTrailerBytes, '\0'));
    const std::size_t footer_at = table.size();
    out.u8(4);
    for (const std::uint64_t number : {content.size(), std::size_t{8}, std::size_t{0}, std::size_t{0}})
      out.varint(number);
    table.resize(footer_at + 41);
    out.u32(5);
    out.u64(0x88e241b785f4cff7);
    write("000001.sst", table);
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    EXPECT_TRUE(open_random_access(*folder_, "000001.sst", memory_, &file).ok());
    return file;
  }

  static constexpr std::size_t kTrailerBytes = 5;
};

// RocksDB reads the pieces of an index or of a filter in one go, into a buffer with this alignment. What it got would not be judged.
// Each table that is opened takes up to three times the alignment.
TEST_F(TableFileTest, SeveralBlocksAtOnceAreNotRead) {
  const auto table = table_of(std::string(200'000, '\0'));
  const std::size_t alignment = table->GetRequiredBufferAlignment();
  EXPECT_LE(alignment, 64u << 10);
  const std::unique_ptr<char, decltype(&std::free)> aligned(
      static_cast<char*>(std::aligned_alloc(alignment, 2 * alignment)), &std::free);
  const auto bytes_read = [&](std::uint64_t offset, std::size_t n, std::size_t place) {
    rocksdb::Slice result;
    EXPECT_TRUE(table->Read(offset, n, {}, &result, aligned.get() + place, nullptr).ok());
    return result.size();
  };

  EXPECT_EQ(bytes_read(0, alignment, 0), 0u);
  EXPECT_EQ(bytes_read(alignment, alignment, 0), 0u);
  EXPECT_EQ(bytes_read(0, 100, 0), 100u) << "a block that begins where such a read would";
  EXPECT_EQ(bytes_read(1, 100, 0), 100u);
  EXPECT_EQ(bytes_read(0, alignment, 16), alignment)
      << "a block of that length, in memory as RocksDB takes it for blocks";
}

TEST_F(TableFileTest, ABlockThatIsTooLargeIsDamageAndItsMemoryIsNotTouched) {
  const auto table = table_of("block");
  rocksdb::Slice result;

  const IOStatus read = table->Read(0, kMaxBlockBytes + 1, {}, &result, nullptr, nullptr);

  EXPECT_TRUE(read.IsCorruption());
  EXPECT_THAT(read.ToString(), HasSubstr("000001.sst"));
  EXPECT_TRUE(result.empty());
}

TEST_F(TableFileTest, ABlockThatWouldBeTooLargeWithoutCompressionIsDamage) {
  std::string block;
  Encoder(block).varint(std::uint64_t{kMaxBlockBytes} + 1);
  block += "frame" + std::string(
                         "\x07"
                         "sum.",
                         5);  // zstd
  const auto table = table_of(block);
  std::array<char, 100> scratch{};
  rocksdb::Slice result;

  EXPECT_TRUE(table->Read(0, block.size(), {}, &result, scratch.data(), nullptr).IsCorruption());
}

TEST_F(TableFileTest, NothingIsReadAhead) {
  const auto table = table_of("block");
  fail("read", ErrorCode::kIo);

  EXPECT_TRUE(table->Prefetch(0, 5, {}, nullptr).ok());
}

TEST_F(TableFileTest, AFooterThatCannotBeIsDamage) {
  table_of("block");
  std::string bytes = content_of("000001.sst");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write("000002.sst", bytes);
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;

  EXPECT_TRUE(open_random_access(*folder_, "000002.sst", memory_, &file).IsCorruption());
}

}  // namespace
}  // namespace dedupfs
