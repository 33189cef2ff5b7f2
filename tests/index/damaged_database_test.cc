// What repair reads of an index that was left in the middle of something.
#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <algorithm>

#include "index/database.h"
#include "index/database_options.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

class DamagedDatabaseTest : public testing::Test {
 protected:
  // Two logs, of which the manifest names the first: a family has been flushed, and another has not.
  DamagedDatabaseTest() {
    EXPECT_TRUE(Database::create(folder_at(made())));
    const DatabaseOptions options = make_database_options(Database::kMinMemoryBytes, folder_at(made()));
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (std::size_t i = 0; i < kFamilyCount; ++i)
      families.emplace_back(std::string(name_of(static_cast<Family>(i))), options.families[i]);
    families.emplace_back(rocksdb::kDefaultColumnFamilyName, options.families[0]);
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* opened = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(options.database, made().string(), families, &handles, &opened).ok());
    const std::unique_ptr<rocksdb::DB> database(opened);
    rocksdb::WriteOptions synced;
    synced.sync = true;
    EXPECT_TRUE(database->Put(synced, handles[at(Family::kInodes)], "flushed", "1").ok());
    EXPECT_TRUE(database->Put(synced, handles[at(Family::kDirents)], "in the first log", "2").ok());
    EXPECT_TRUE(database->Flush({}, handles[at(Family::kInodes)]).ok());
    EXPECT_TRUE(database->Put(synced, handles[at(Family::kDirents)], "in the second log", "3").ok());
    std::filesystem::copy(made(), left(), std::filesystem::copy_options::recursive);
    for (rocksdb::ColumnFamilyHandle* const handle : handles) database->DestroyColumnFamilyHandle(handle);
  }

  static std::size_t at(Family family) { return static_cast<std::size_t>(family); }
  Path made() const { return directory_.path() / "made"; }
  Path left() const { return directory_.path() / "left"; }
  std::vector<Path> logs() const {
    std::vector<Path> logs;
    for (const auto& file : std::filesystem::directory_iterator(left()))
      if (file.path().extension() == ".log") logs.push_back(file.path());
    std::ranges::sort(logs);
    return logs;
  }
  Result<std::unique_ptr<Database>> open_damaged() const {
    return Database::open(folder_at(left()),
                          {.memory_bytes = Database::kMinMemoryBytes, .read_only = true, .damaged = true});
  }

 private:
  TempDir directory_;
};

TEST_F(DamagedDatabaseTest, AllLogsThatTheManifestNamesAreRead) {
  ASSERT_GE(logs().size(), 2U);
  const auto database = open_damaged();
  ASSERT_TRUE(database) << database.error().message();
  EXPECT_EQ((*database)->get(Family::kInodes, "flushed").value(), "1");
  EXPECT_EQ((*database)->get(Family::kDirents, "in the first log").value(), "2");
  EXPECT_EQ((*database)->get(Family::kDirents, "in the second log").value(), "3");
}

TEST_F(DamagedDatabaseTest, ALogThatTheManifestNamesAndThatIsGoneIsAnError) {
  ASSERT_GE(logs().size(), 2U);
  std::filesystem::remove(logs()[logs().size() - 2]);
  const auto database = open_damaged();
  ASSERT_FALSE(database);
  EXPECT_EQ(database.error().code(), ErrorCode::kCorruption);
}

}  // namespace
}  // namespace dedupfs
