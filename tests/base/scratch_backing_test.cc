#include "base/scratch_backing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dedupfs {
namespace {

using Mode = Backing::Mode;
using Type = Backing::Type;

constexpr std::uint64_t kBlock = ScratchBacking::kBlockBytes;

class ScratchBackingTest : public testing::Test {
 protected:
  std::unique_ptr<BackingFile> make(std::string_view name, std::string_view content) {
    auto file = std::move(folder_->open(name, Mode::kCreate).value());
    EXPECT_TRUE(file->write(0, bytes_of(content)));
    return file;
  }
  std::string content(std::string_view name) { return read_file(*folder_, name, kBlock * 100).value(); }

  ScratchBacking disk_{4 * kBlock};
  std::shared_ptr<BackingFolder> folder_ = disk_.open_root("/").value();
};

TEST_F(ScratchBackingTest, ReadsBackWhatWasWrittenAcrossBlocks) {
  const std::string text(2 * kBlock + 10, 'x');
  make("a", text);
  EXPECT_EQ(content("a"), text);

  ASSERT_TRUE(folder_->open("a", Mode::kReadWrite).value()->write(kBlock - 1, bytes_of("yz")));
  EXPECT_EQ(content("a").substr(kBlock - 2, 4), "xyzx");
}

TEST_F(ScratchBackingTest, WhatWasNeverWrittenIsZeroAndTakesNoMemory) {
  const auto file = make("a", "");
  ASSERT_TRUE(file->write(50 * kBlock, bytes_of("end")));

  EXPECT_EQ(disk_.used_bytes(), kBlock);
  EXPECT_EQ(content("a"), std::string(50 * kBlock, '\0') + "end");
}

TEST_F(ScratchBackingTest, WhatWasCutOffIsZeroIfTheFileGrowsAgain) {
  const auto file = make("a", std::string(2 * kBlock, 'x'));
  ASSERT_TRUE(file->truncate(3));
  EXPECT_EQ(disk_.used_bytes(), kBlock);
  ASSERT_TRUE(file->truncate(6));

  EXPECT_EQ(content("a"), std::string("xxx\0\0\0", 6));
}

TEST_F(ScratchBackingTest, TakesNoMoreThanItsLimitAndGivesBackWhatIsDeleted) {
  make("a", std::string(3 * kBlock, 'x'));
  const auto file = std::move(folder_->open("b", Mode::kCreate).value());

  const auto written = file->write(0, bytes_of(std::string(2 * kBlock, 'y')));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::kNoSpace);
  EXPECT_EQ(*file->size(), kBlock) << "what fits";

  ASSERT_TRUE(folder_->unlink("a"));
  EXPECT_EQ(disk_.used_bytes(), kBlock);
  EXPECT_EQ(disk_.peak_bytes(), 4 * kBlock);
  EXPECT_TRUE(file->write(0, bytes_of(std::string(2 * kBlock, 'y'))));
}

TEST_F(ScratchBackingTest, AnOpenFileOutlivesItsName) {
  const auto file = make("a", "text");
  ASSERT_TRUE(folder_->unlink("a"));

  ByteBuffer out(4);
  ASSERT_TRUE(file->read(0, out));
  EXPECT_EQ(text_of(out), "text");
  EXPECT_EQ(folder_->status("a")->type, Type::kMissing);
}

TEST_F(ScratchBackingTest, RenamesReplaceAndLinksShare) {
  make("a", "new");
  make("b", "old");
  const auto inner = folder_->make_and_open_folder("inner").value();
  ASSERT_TRUE(folder_->rename("a", *folder_, "b"));
  ASSERT_TRUE(folder_->link("b", *inner, "c"));

  EXPECT_EQ(content("b"), "new");
  EXPECT_EQ(*folder_->list(), (std::vector<std::string>{"b", "inner"}));
  EXPECT_EQ(folder_->link("b", *inner, "c").error().code(), ErrorCode::kExists);
  ASSERT_TRUE(inner->open("c", Mode::kReadWrite).value()->write(0, bytes_of("N")));
  EXPECT_EQ(content("b"), "New");
}

TEST_F(ScratchBackingTest, RefusesWhatADiskWouldRefuse) {
  make("a", "text");
  const auto inner = folder_->make_and_open_folder("inner").value();
  ASSERT_TRUE(inner->open("b", Mode::kCreate));

  EXPECT_EQ(folder_->open("none", Mode::kRead).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(folder_->open("a", Mode::kCreate).error().code(), ErrorCode::kExists);
  EXPECT_EQ(folder_->make_folder("a").error().code(), ErrorCode::kExists);
  EXPECT_EQ(folder_->remove_folder("inner").error().code(), ErrorCode::kNotEmpty);
  EXPECT_EQ(folder_->remove_folder("a").error().code(), ErrorCode::kNotDirectory);
  EXPECT_EQ(folder_->unlink("inner").error().code(), ErrorCode::kIsDirectory);
  EXPECT_EQ(folder_->unlink("inner/b").error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(folder_->open("..", Mode::kRead).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(folder_->open(std::string_view("a\0b", 3), Mode::kCreate).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_FALSE(folder_->open("a", Mode::kRead).value()->write(0, bytes_of("x"))) << "it is open for reading";
  EXPECT_EQ(disk_.open_root("/inner/none").error().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(disk_.open_root("/inner/").value()->exists("b").value());
}

TEST_F(ScratchBackingTest, LocksKeepOthersOutUntilTheFileIsClosed) {
  auto first = make("lock", "");
  const auto second = std::move(folder_->open("lock", Mode::kReadWrite).value());

  EXPECT_TRUE(*first->try_lock(BackingFile::LockMode::kShared));
  EXPECT_FALSE(*second->try_lock(BackingFile::LockMode::kExclusive));
  first.reset();
  EXPECT_TRUE(*second->try_lock(BackingFile::LockMode::kExclusive));
  EXPECT_FALSE(*folder_->open("lock", Mode::kRead).value()->try_lock(BackingFile::LockMode::kShared));
}

TEST_F(ScratchBackingTest, ReportsSizesInBlocksOfADisk) {
  make("a", "text");

  const auto status = folder_->status("a").value();
  EXPECT_EQ(status.type, Type::kFile);
  EXPECT_EQ(status.allocated_bytes, 4096U);
  EXPECT_EQ(status.permissions, 0600U);
  EXPECT_EQ(folder_->status()->type, Type::kDirectory);
}

}  // namespace
}  // namespace dedupfs
