#include "fs/extract/read_only_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "fs/test_filesystem.h"
#include "support/files.h"

namespace dedupfs {
namespace {

class ReadOnlyFolders : public testing::Test {
 protected:
  ReadOnlyFolders() {
    for (const char* const name : {"volume", "volume/index", "other"})
      std::filesystem::create_directories(dir_.path() / name);
    overwrite(dir_.path() / "volume/file", "content");
    overwrite(dir_.path() / "volume/index/table", "old");
    other_ = value_of(Backing::posix()->open_root(dir_.path() / "other"));
    folder_ = std::make_unique<ReadOnlyFolder>(value_of(Backing::posix()->open_root(dir_.path() / "volume")),
                                               ReadOnlyFolder::Elsewhere{{"new", {other_, "index"}}});
  }

  const TempDir dir_;
  std::shared_ptr<BackingFolder> other_;
  std::unique_ptr<ReadOnlyFolder> folder_;
};

TEST_F(ReadOnlyFolders, GiveWhatIsThere) {
  EXPECT_EQ(value_of(read_file(*folder_, "file", 100)), "content");
  EXPECT_EQ(value_of(read_file(*value_of(folder_->open_folder("index")), "table", 100)), "old");
  EXPECT_EQ(value_of(folder_->list()), (std::vector<std::string>{"file", "index"}));
  EXPECT_EQ(value_of(folder_->type("new")), Backing::Type::kMissing);
}

TEST_F(ReadOnlyFolders, RefuseChanges) {
  const auto index = value_of(folder_->open_folder("index"));
  for (BackingFolder* const folder : {static_cast<BackingFolder*>(folder_.get()), index.get()}) {
    EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, folder->open("x", Backing::Mode::kCreate)));
    EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, folder->open("x", Backing::Mode::kOpenOrCreate)));
    EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, folder->make_folder("x")));
    EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, folder->link("table", *other_, "x")));
    EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, folder->rename("table", *other_, "x")));
    EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, folder->unlink("table")));
  }
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, folder_->open("file", Backing::Mode::kReadWrite)));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, folder_->remove_folder("index")));
}

TEST_F(ReadOnlyFolders, ChangeWhatStandsElsewhere) {
  const auto made = value_of(folder_->make_and_open_folder("new"));
  ASSERT_TRUE(ok(made->open("table", Backing::Mode::kCreate)));

  EXPECT_TRUE(std::filesystem::exists(dir_.path() / "other/index/table"));
  EXPECT_EQ(value_of(folder_->list()), (std::vector<std::string>{"file", "index", "new"}));
  ASSERT_TRUE(ok(remove_tree(*folder_, "new")));
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "other/index"));
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "volume/new"));
}

}  // namespace
}  // namespace dedupfs
