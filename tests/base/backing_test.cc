#include "base/backing.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/temp_dir.h"

namespace dedupfs {
namespace {

class BackingTest : public ::testing::Test {
 protected:
  TempDir dir_;
  std::shared_ptr<Backing> backing_ = Backing::posix();
};

TEST_F(BackingTest, ReadsBackWhatItWrote) {
  auto file = backing_->open(dir_.path() / "a", Backing::Mode::kCreate);
  ASSERT_TRUE(file);

  ASSERT_TRUE((*file)->write(3, bytes_of("hello")));

  ByteBuffer out(5);
  ASSERT_TRUE((*file)->read(3, out));
  EXPECT_EQ(text_of(out), "hello");
  EXPECT_EQ(*(*file)->size(), 8U);
}

TEST_F(BackingTest, CallsAFileThatEndsEarlyCorruptAndNamesIt) {
  ASSERT_TRUE(replace_file(*backing_, dir_.path() / "a", bytes_of("abc")));
  auto file = backing_->open(dir_.path() / "a", Backing::Mode::kRead);
  ByteBuffer out(4);

  const auto read = (*file)->read(0, out);

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::kCorruption);
  EXPECT_NE(read.error().message().find((dir_.path() / "a").string()), std::string::npos);
}

TEST_F(BackingTest, ReadsUpToTheEndWhereLessIsAskedForThanAll) {
  ASSERT_TRUE(replace_file(*backing_, dir_.path() / "a", bytes_of("abc")));
  const auto file = backing_->open(dir_.path() / "a", Backing::Mode::kRead);
  ByteBuffer out(4);

  EXPECT_EQ(*(*file)->read_up_to(1, out), 2U);
  EXPECT_EQ(*(*file)->read_up_to(3, out), 0U);
  EXPECT_EQ(*(*file)->read_up_to(7, out), 0U);
}

TEST_F(BackingTest, AnExclusiveLockKeepsOthersOutUntilItsFileIsClosed) {
  auto holder = backing_->open(dir_.path() / "lock", Backing::Mode::kOpenOrCreate);
  const auto other = backing_->open(dir_.path() / "lock", Backing::Mode::kOpenOrCreate);
  ASSERT_TRUE(holder && other);
  ASSERT_TRUE(*(*holder)->try_lock(BackingFile::LockMode::kExclusive));

  EXPECT_FALSE(*(*other)->try_lock(BackingFile::LockMode::kShared));
  holder->reset();
  EXPECT_TRUE(*(*other)->try_lock(BackingFile::LockMode::kShared));
}

TEST_F(BackingTest, WhatItCreatesIsForItsOwnerOnly) {
  ASSERT_TRUE(backing_->open(dir_.path() / "a", Backing::Mode::kOpenOrCreate));
  ASSERT_TRUE(backing_->make_directory(dir_.path() / "d"));

  EXPECT_EQ(std::filesystem::status(dir_.path() / "a").permissions(), std::filesystem::perms(0600));
  EXPECT_EQ(std::filesystem::status(dir_.path() / "d").permissions(), std::filesystem::perms(0700));
}

TEST_F(BackingTest, RemovesATreeButNotWhatItsLinksLeadTo) {
  ASSERT_TRUE(replace_file(*backing_, dir_.path() / "kept", bytes_of("abc")));
  ASSERT_TRUE(backing_->make_directory(dir_.path() / "d"));
  ASSERT_TRUE(backing_->make_directory(dir_.path() / "d/e"));
  ASSERT_TRUE(replace_file(*backing_, dir_.path() / "d/e/f", bytes_of("abc")));
  ASSERT_EQ(::symlink("../kept", (dir_.path() / "d/link").c_str()), 0);

  ASSERT_TRUE(remove_tree(*backing_, dir_.path() / "d"));
  EXPECT_TRUE(remove_tree(*backing_, dir_.path() / "d")) << "nothing there";

  EXPECT_EQ(*backing_->type(dir_.path() / "d"), Backing::Type::kMissing);
  EXPECT_EQ(*backing_->type(dir_.path() / "kept"), Backing::Type::kFile);
}

TEST_F(BackingTest, DoesNotCreateOverAnExistingFile) {
  ASSERT_TRUE(replace_file(*backing_, dir_.path() / "a", bytes_of("abc")));

  const auto file = backing_->open(dir_.path() / "a", Backing::Mode::kCreate);

  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), ErrorCode::kExists);
}

TEST_F(BackingTest, DoesNotFollowSymlinksNorOpenFifos) {
  ASSERT_EQ(::symlink("/etc/passwd", (dir_.path() / "link").c_str()), 0);
  ASSERT_EQ(::mkfifo((dir_.path() / "fifo").c_str(), 0600), 0);

  EXPECT_FALSE(backing_->open(dir_.path() / "link", Backing::Mode::kRead));
  EXPECT_FALSE(backing_->open(dir_.path() / "fifo", Backing::Mode::kRead));
}

TEST_F(BackingTest, ReplacesAFileWholeAndLeavesNothingBehind) {
  ASSERT_TRUE(replace_file(*backing_, dir_.path() / "a", bytes_of("old and long")));
  ASSERT_TRUE(replace_file(*backing_, dir_.path() / "a", bytes_of("new")));

  EXPECT_EQ(*read_file(*backing_, dir_.path() / "a", 100), "new");
  EXPECT_EQ(backing_->list_directory(dir_.path())->size(), 1U);
}

TEST_F(BackingTest, RefusesToReadMoreThanTheLimit) {
  ASSERT_TRUE(replace_file(*backing_, dir_.path() / "a", bytes_of("abcd")));

  EXPECT_FALSE(read_file(*backing_, dir_.path() / "a", 3));
}

}  // namespace
}  // namespace dedupfs
