#include "index/kept_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::Contains;
using testing::EndsWith;
using testing::SizeIs;

class KeptFilesTest : public testing::Test {
 protected:
  KeptFilesTest() {
    EXPECT_TRUE(Database::create(folder_at(path_)));
    database_ = std::move(*Database::open(folder_at(path_), {.memory_bytes = 16 << 20}));
  }
  void put(const std::string& key) {
    Database::Batch batch(*database_);
    batch.put(Family::kInodes, key, std::string(1000, 'x'));
    ASSERT_TRUE(database_->write(batch));
  }
  std::size_t tables_on_disk() const {
    std::size_t tables = 0;
    for (const auto& file : std::filesystem::directory_iterator(path_))
      tables += static_cast<std::size_t>(file.path().extension() == ".sst");
    return tables;
  }

  const TempDir directory_;
  const Path path_ = directory_.path() / "index";
  std::unique_ptr<Database> database_;
};

TEST_F(KeptFilesTest, ListsTheDatabase) {
  put("1");
  ASSERT_TRUE(database_->empty_log());
  put("2");
  const auto kept = KeptFiles::keep(*database_);
  ASSERT_TRUE(kept);

  const auto list = (*kept)->list();

  ASSERT_TRUE(list) << list.error().message();
  EXPECT_THAT(list->unchanging, Contains(EndsWith(".sst")));
  EXPECT_THAT(list->logs, SizeIs(1));
  EXPECT_EQ(std::filesystem::file_size(path_ / list->manifest), list->manifest_bytes);
}

TEST_F(KeptFilesTest, NoTableIsRemovedAsLongAsSomebodyKeepsThem) {
  for (const char* const key : {"1", "2", "3"}) {
    put(key);
    ASSERT_TRUE(database_->empty_log());
  }
  auto first = std::move(*KeptFiles::keep(*database_));
  auto second = std::move(*KeptFiles::keep(*database_));
  const std::size_t before = tables_on_disk();

  ASSERT_TRUE(database_->compact(Family::kInodes));

  EXPECT_GE(tables_on_disk(), before);
  first.reset();
  EXPECT_GE(tables_on_disk(), before);
  second.reset();
  EXPECT_LT(tables_on_disk(), before);
}

}  // namespace
}  // namespace dedupfs
