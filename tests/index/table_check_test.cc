#include "index/table_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include <functional>
#include <map>

#include "base/coding.h"
#include "index/database.h"
#include "index/database_options.h"
#include "support/files.h"
#include "support/folder_at.h"
#include "support/table_blocks.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TableCheckTest : public testing::Test {
 protected:
  TableCheckTest() { EXPECT_TRUE(Database::create(folder())); }

  std::shared_ptr<BackingFolder> folder() const { return folder_at(directory_.path() / "index"); }
  // In tables, when it returns.
  void write(const std::function<void(Database::Batch&)>& change) const {
    const auto index = Database::open(folder(), {.memory_bytes = 8 << 20});
    ASSERT_TRUE(index);
    Database::Batch batch(**index);
    change(batch);
    ASSERT_TRUE((*index)->write(batch));
  }
  void write_records() const {
    write([](Database::Batch& batch) {
      for (const char* key : {"one", "three", "two"}) batch.put(Family::kCounters, key, "value");
    });
  }
  std::vector<std::string> harm() const {
    std::vector<std::string> harm;
    const auto tables = harmful_tables(folder()).value();
    for (const HarmfulTable& harmful : tables) {
      EXPECT_THAT(harmful.harm, HasSubstr(harmful.name));
      harm.push_back(harmful.harm);
    }
    return harm;
  }
  Path table() const {
    for (const auto& file : std::filesystem::directory_iterator(folder()->path()))
      if (file.path().extension() == ".sst" && content_of(file.path()).find("counters") != std::string::npos)
        return file.path();
    ADD_FAILURE() << "no table";
    return {};
  }
  TableBlock properties_block() const {
    const std::string bytes = content_of(table());
    for (const TableBlock& block : table_blocks_of(bytes))
      if (bytes.substr(block.offset, block.bytes).find("counters") != std::string::npos) return block;
    ADD_FAILURE() << "no properties";
    return {};
  }
  // The checksums are right again.
  void replace(const std::string& what, const std::string& by) const {
    ASSERT_EQ(what.size(), by.size());
    const Path file = table();
    std::string bytes = content_of(file);
    const std::vector<TableBlock> blocks = table_blocks_of(bytes);
    for (auto at = bytes.find(what); at != std::string::npos; at = bytes.find(what, at + 1))
      bytes.replace(at, what.size(), by);
    for (const TableBlock& block : blocks) seal_block(bytes, block);
    overwrite(file, bytes);
  }

 private:
  TempDir directory_;
};

TEST_F(TableCheckTest, WhatTheDatabaseWritesIsHarmless) {
  constexpr std::uint64_t kRecords = 20'000;
  for (std::uint64_t round = 0; round < 3; ++round)
    write([&](Database::Batch& batch) {
      for (std::uint64_t i = 0; i < kFamilyCount; ++i)
        for (std::uint64_t record = 0; record < kRecords / (i + 1); ++record) {
          std::string key;
          Encoder(key).big_u64(record * 0x9e3779b97f4a7c15);  // in no order, and hard to compress
          const auto family = static_cast<Family>(i);
          if (record % 7 == round)
            batch.erase(family, key);
          else
            batch.put(family, key, key + std::string(record % 50, 'v'));
        }
    });
  write([](Database::Batch& batch) { batch.put(Family::kCounters, "large", std::string(10 << 20, 'x')); });
  EXPECT_THAT(harm(), IsEmpty());

  const auto index = Database::open(folder(), {.memory_bytes = 8 << 20});
  ASSERT_TRUE((*index)->compact(Family::kFingerprints));

  EXPECT_THAT(harm(), IsEmpty());
}

// Other builds of RocksDB have other checksums, and other compression where zstd is missing.
TEST_F(TableCheckTest, TablesOfOtherBuildsOfRocksDBAreHarmless) {
  const DatabaseOptions options = make_database_options(8 << 20, folder());
  std::vector<rocksdb::ColumnFamilyDescriptor> families{{rocksdb::kDefaultColumnFamilyName, options.families[0]}};
  for (std::size_t i = 0; i < kFamilyCount; ++i)
    families.emplace_back(std::string(name_of(static_cast<Family>(i))), options.families[i]);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  ASSERT_TRUE(
      rocksdb::DB::OpenForReadOnly(options.database, folder()->path().string(), families, &handles, &opened).ok());
  const std::unique_ptr<rocksdb::DB> database(opened);
  for (const auto checksum : {rocksdb::kCRC32c, rocksdb::kxxHash, rocksdb::kxxHash64, rocksdb::kXXH3})
    for (const auto compression : {rocksdb::kNoCompression, rocksdb::kLZ4Compression, rocksdb::kZSTD}) {
      rocksdb::Options family(options.database, options.families[static_cast<std::size_t>(Family::kXattrs)]);
      family.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>()->checksum = checksum;
      family.compression = family.bottommost_compression = compression;
      rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), family,
                                    handles[1 + static_cast<std::size_t>(Family::kXattrs)]);
      const Path file = folder()->path() / "000999.sst";
      ASSERT_TRUE(writer.Open(file.string()).ok());
      for (int record = 10'000; record < 20'000; ++record)
        ASSERT_TRUE(writer.Put(std::to_string(record), std::string(100, 'v')).ok());
      ASSERT_TRUE(writer.Finish().ok());

      EXPECT_THAT(harm(), IsEmpty()) << checksum << ", " << compression;

      // An entry that begins nowhere, and that no checksum hides.
      std::string bytes = content_of(file);
      bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x55);
      overwrite(file, bytes);
      EXPECT_THAT(harm(), IsEmpty()) << "RocksDB sees that the checksum differs";
      std::filesystem::remove(file);
    }
  for (rocksdb::ColumnFamilyHandle* const handle : handles) database->DestroyColumnFamilyHandle(handle);
}

TEST_F(TableCheckTest, ARecordThatReachesBeyondItsBlockIsHarm) {
  write_records();
  std::string bytes = content_of(table());
  make_harmful(bytes);
  overwrite(table(), bytes);

  EXPECT_THAT(harm(), ElementsAre(HasSubstr("the block at 0 has an entry at 0 that does not end in it")));
}

TEST_F(TableCheckTest, RecordsThatAreNotInOrderAreHarm) {
  write_records();
  replace("three", "zzzzz");

  EXPECT_THAT(harm(), ElementsAre(HasSubstr("keys that are not in order")));
}

TEST_F(TableCheckTest, RecordsOfTypesThatDedupfsNeverWritesAreHarm) {
  write_records();
  const std::string three = content_of(table()).substr(content_of(table()).find("three"), 13);
  std::string merged = three;
  merged[5] = 2;  // a number of eight bytes, the lowest of which is the type
  replace(three, merged);

  EXPECT_THAT(harm(), ElementsAre(HasSubstr("record of type 2")));
}

TEST_F(TableCheckTest, ARecordThatIsNewerThanTheManifestSaysIsHarm) {
  write_records();
  const std::string three = content_of(table()).substr(content_of(table()).find("three"), 13);
  std::string newer = three;
  newer[9] = 1;
  replace(three, newer);

  EXPECT_THAT(harm(), ElementsAre(HasSubstr("beyond the range that the manifest")));
}

TEST_F(TableCheckTest, ARecordBeyondTheRangeThatTheManifestSaysIsHarm) {
  write_records();
  replace("one", "ant");

  EXPECT_THAT(harm(), ElementsAre(HasSubstr("beyond the range that the manifest")));
}

TEST_F(TableCheckTest, APropertyThatHasTheIndexReadInAnotherWayIsHarm) {
  write_records();
  const std::string name = "rocksdb.block.based.table.index.type";
  replace(name + std::string("\2\0\0\0", 4), name + std::string(4, '\0'));

  EXPECT_THAT(harm(), ElementsAre(HasSubstr("the index has another form")));
}

TEST_F(TableCheckTest, AFamilyThatIsNoneOrHasAnotherNumberIsHarm) {
  write_records();
  replace("counters", "Counters");

  EXPECT_THAT(harm(), ElementsAre(HasSubstr("of family 10, 'Counters'")));
}

TEST_F(TableCheckTest, DamageThatTheChecksumsShowIsNoHarm) {
  write_records();
  const Path file = table();
  const std::size_t bytes = content_of(file).size();
  const TableBlock properties = properties_block();
  for (std::size_t at = 0; at < bytes; at += 5) {
    if (at >= properties.offset && at < properties.offset + properties.bytes + kTableTrailerBytes) continue;
    flip_bit(file, at);
    EXPECT_THAT(harm(), IsEmpty()) << at;
    flip_bit(file, at);
  }
  for (std::size_t length = 0; length < bytes; length += 31) {
    const std::string whole = content_of(file);
    overwrite(file, whole.substr(0, length));
    EXPECT_THAT(harm(), IsEmpty()) << length;
    overwrite(file, whole);
  }
}

// RocksDB reads them before it looks at the checksum.
TEST_F(TableCheckTest, PropertiesAreJudgedThoughTheirChecksumDiffers) {
  write_records();
  const TableBlock properties = properties_block();
  flip_bit(table(), properties.offset + properties.bytes - 1);

  EXPECT_THAT(harm(), ElementsAre(HasSubstr("restart points")));
}

TEST_F(TableCheckTest, NothingIsWritten) {
  write_records();
  const auto picture = [&] {
    std::map<std::string, std::string> files;
    for (const auto& file : std::filesystem::directory_iterator(folder()->path()))
      files[file.path().filename().string()] = content_of(file.path());
    return files;
  };
  const auto before = picture();

  EXPECT_THAT(harm(), IsEmpty());

  EXPECT_TRUE(picture() == before);
}

}  // namespace
}  // namespace dedupfs
