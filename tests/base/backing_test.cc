#include "base/backing.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

class BackingTest : public ::testing::Test {
 protected:
  TempDir dir_;
  std::shared_ptr<BackingFolder> folder_ = Backing::posix()->open_root(dir_.path()).value();
};

TEST_F(BackingTest, ReadsBackWhatItWrote) {
  auto file = folder_->open("a", Backing::Mode::kCreate);
  ASSERT_TRUE(file);

  ASSERT_TRUE((*file)->write(3, bytes_of("hello")));

  ByteBuffer out(5);
  ASSERT_TRUE((*file)->read(3, out));
  EXPECT_EQ(text_of(out), "hello");
  EXPECT_EQ(*(*file)->size(), 8U);
}

TEST_F(BackingTest, CallsAFileThatEndsEarlyCorruptAndNamesIt) {
  ASSERT_TRUE(replace_file(*folder_, "a", bytes_of("abc")));
  auto file = folder_->open("a", Backing::Mode::kRead);
  ByteBuffer out(4);

  const auto read = (*file)->read(0, out);

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::kCorruption);
  EXPECT_NE(read.error().message().find((dir_.path() / "a").string()), std::string::npos);
}

TEST_F(BackingTest, ReadsUpToTheEndWhereLessIsAskedForThanAll) {
  ASSERT_TRUE(replace_file(*folder_, "a", bytes_of("abc")));
  const auto file = folder_->open("a", Backing::Mode::kRead);
  ByteBuffer out(4);

  EXPECT_EQ(*(*file)->read_up_to(1, out), 2U);
  EXPECT_EQ(*(*file)->read_up_to(3, out), 0U);
  EXPECT_EQ(*(*file)->read_up_to(7, out), 0U);
}

TEST_F(BackingTest, AnExclusiveLockKeepsOthersOutUntilItsFileIsClosed) {
  auto holder = folder_->open("lock", Backing::Mode::kOpenOrCreate);
  const auto other = folder_->open("lock", Backing::Mode::kOpenOrCreate);
  ASSERT_TRUE(holder && other);
  ASSERT_TRUE(*(*holder)->try_lock(BackingFile::LockMode::kExclusive));

  EXPECT_FALSE(*(*other)->try_lock(BackingFile::LockMode::kShared));
  holder->reset();
  EXPECT_TRUE(*(*other)->try_lock(BackingFile::LockMode::kShared));
}

// As programs of others lock: by fcntl, whose locks flock does not see.
TEST_F(BackingTest, AnExclusiveRecordLockIsSeenByProcessesThatLockByFcntl) {
  auto holder = folder_->open("lock", Backing::Mode::kOpenOrCreate);
  const auto other = folder_->open("lock", Backing::Mode::kOpenOrCreate);
  ASSERT_TRUE(holder && other);
  const auto is_locked = [&] {
    const UniqueFd asking(::open((folder_->path() / "lock").c_str(), O_RDWR | O_CLOEXEC));
    struct flock wanted {};
    wanted.l_type = F_WRLCK;
    EXPECT_EQ(::fcntl(asking.get(), F_GETLK, &wanted), 0);
    return wanted.l_type != F_UNLCK;
  };
  ASSERT_TRUE(*(*holder)->try_lock(BackingFile::LockMode::kExclusiveRecord));

  EXPECT_TRUE(is_locked());
  EXPECT_FALSE(*(*other)->try_lock(BackingFile::LockMode::kExclusiveRecord));
  holder->reset();
  EXPECT_FALSE(is_locked());
}

TEST_F(BackingTest, WhatItCreatesIsForItsOwnerOnly) {
  ASSERT_TRUE(folder_->open("a", Backing::Mode::kOpenOrCreate));
  ASSERT_TRUE(folder_->make_folder("d"));

  EXPECT_EQ(std::filesystem::status(dir_.path() / "a").permissions(), std::filesystem::perms(0600));
  EXPECT_EQ(std::filesystem::status(dir_.path() / "d").permissions(), std::filesystem::perms(0700));
}

TEST_F(BackingTest, RemovesATreeButNotWhatItsLinksLeadTo) {
  ASSERT_TRUE(replace_file(*folder_, "kept", bytes_of("abc")));
  const auto inner = folder_->make_and_open_folder("d").value()->make_and_open_folder("e").value();
  ASSERT_TRUE(replace_file(*inner, "f", bytes_of("abc")));
  ASSERT_EQ(::symlink("../kept", (dir_.path() / "d/link").c_str()), 0);

  ASSERT_TRUE(remove_tree(*folder_, "d"));
  EXPECT_TRUE(remove_tree(*folder_, "d")) << "nothing there";

  EXPECT_EQ(*folder_->type("d"), Backing::Type::kMissing);
  EXPECT_EQ(*folder_->type("kept"), Backing::Type::kFile);
}

TEST_F(BackingTest, DoesNotCreateOverAnExistingFile) {
  ASSERT_TRUE(replace_file(*folder_, "a", bytes_of("abc")));

  const auto file = folder_->open("a", Backing::Mode::kCreate);

  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), ErrorCode::kExists);
}

TEST_F(BackingTest, DoesNotFollowSymlinksNorOpenFifos) {
  ASSERT_EQ(::symlink("/etc/passwd", (dir_.path() / "link").c_str()), 0);
  ASSERT_EQ(::mkfifo((dir_.path() / "fifo").c_str(), 0600), 0);

  EXPECT_FALSE(folder_->open("link", Backing::Mode::kRead));
  EXPECT_FALSE(folder_->open("fifo", Backing::Mode::kRead));
}

TEST_F(BackingTest, ReplacesAFileWholeAndLeavesNothingBehind) {
  ASSERT_TRUE(replace_file(*folder_, "a", bytes_of("old and long")));
  ASSERT_TRUE(replace_file(*folder_, "a", bytes_of("new")));

  EXPECT_EQ(*read_file(*folder_, "a", 100), "new");
  EXPECT_EQ(folder_->list()->size(), 1U);
}

TEST_F(BackingTest, AnEmptyPathNamesNoFolder) {
  EXPECT_EQ(whole_path(""), "");
  EXPECT_EQ(Backing::posix()->open_root("").error().code(), ErrorCode::kInvalidArgument);
}

TEST_F(BackingTest, AFolderThatWasRemovedCanBeTheCurrentOne) {
  const Path before = std::filesystem::current_path();
  const Path removed = dir_.path() / "removed";
  std::filesystem::create_directory(removed);
  std::filesystem::current_path(removed);
  std::filesystem::remove(removed);

  const Path whole = whole_path("folder");
  const auto opened = Backing::posix()->open_root("folder");
  std::filesystem::current_path(before);

  EXPECT_EQ(whole, "./folder");
  EXPECT_EQ(opened.error().code(), ErrorCode::kNotFound);
}

TEST_F(BackingTest, RefusesToReadMoreThanTheLimit) {
  ASSERT_TRUE(replace_file(*folder_, "a", bytes_of("abcd")));

  EXPECT_FALSE(read_file(*folder_, "a", 3));
}

TEST_F(BackingTest, TakesSingleNamesOnly) {
  std::filesystem::create_directories(dir_.path() / "d/e");
  std::ofstream(dir_.path() / "d/f") << "abc";

  for (const std::string_view name :
       std::vector<std::string_view>{"", ".", "..", "d/f", "/etc/passwd", "../x", std::string_view("f\0g", 3)}) {
    EXPECT_EQ(folder_->open(name, Backing::Mode::kOpenOrCreate).error().code(), ErrorCode::kInvalidArgument) << name;
    EXPECT_FALSE(folder_->open_folder(name)) << name;
    EXPECT_FALSE(folder_->make_folder(name)) << name;
    EXPECT_FALSE(folder_->remove_folder(name)) << name;
    EXPECT_FALSE(folder_->unlink(name)) << name;
    EXPECT_FALSE(folder_->status(name)) << name;
    EXPECT_FALSE(folder_->rename(name, *folder_, "x")) << name;
    EXPECT_FALSE(folder_->rename("d", *folder_, name)) << name;
    EXPECT_FALSE(folder_->link(name, *folder_, "x")) << name;
  }
}

// Somebody who may write to a folder puts a link to another one in its place, at any moment.
class SwappedFolderTest : public BackingTest {
 protected:
  SwappedFolderTest() {
    std::filesystem::create_directories(dir_.path() / "volume/parts");
    std::filesystem::create_directories(dir_.path() / "elsewhere");
    std::ofstream(dir_.path() / "elsewhere/precious") << "abc";
    std::ofstream(dir_.path() / "volume/parts/precious") << "not so";
    volume_ = Backing::posix()->open_root(dir_.path() / "volume").value();
    parts_ = volume_->open_folder("parts").value();
  }
  void swap() const {
    std::filesystem::rename(dir_.path() / "volume/parts", dir_.path() / "volume/moved");
    std::filesystem::create_directory_symlink(dir_.path() / "elsewhere", dir_.path() / "volume/parts");
  }
  void expect_elsewhere_untouched() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path() / "elsewhere"))
      names.push_back(entry.path().filename().string());
    EXPECT_EQ(names, std::vector<std::string>{"precious"});
    EXPECT_EQ(std::filesystem::file_size(dir_.path() / "elsewhere/precious"), 3U);
  }

  std::shared_ptr<BackingFolder> volume_;
  std::shared_ptr<BackingFolder> parts_;
};

TEST_F(SwappedFolderTest, WorkGoesOnInTheFolderThatWasOpened) {
  swap();

  ASSERT_TRUE(replace_file(*parts_, "new", bytes_of("abc")));
  ASSERT_TRUE(parts_->rename("new", *parts_, "newer"));
  ASSERT_TRUE(parts_->link("newer", *volume_, "second"));
  ASSERT_TRUE(parts_->unlink("precious"));
  ASSERT_TRUE(parts_->make_folder("d"));
  ASSERT_TRUE(parts_->remove_folder("d"));
  ASSERT_TRUE(parts_->sync());

  EXPECT_EQ(*parts_->list(), std::vector<std::string>{"newer"});
  EXPECT_TRUE(std::filesystem::exists(dir_.path() / "volume/moved/newer"));
  EXPECT_EQ(parts_->path(), dir_.path() / "volume/parts") << "messages name it as it was opened";
  expect_elsewhere_untouched();
}

TEST_F(SwappedFolderTest, AFolderIsNotOpenedThroughALink) {
  swap();

  const auto opened = volume_->open_folder("parts");

  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(volume_->type("parts").value(), Backing::Type::kOther);
}

TEST_F(SwappedFolderTest, RemovingATreeRemovesTheLinkOnly) {
  swap();

  ASSERT_TRUE(remove_tree(*volume_, "parts"));

  EXPECT_EQ(volume_->type("parts").value(), Backing::Type::kMissing);
  expect_elsewhere_untouched();
}

// While the tree is walked: whatever the walk meets, it stays in the folders that it opened.
TEST_F(SwappedFolderTest, NothingElsewhereIsRemovedWhileLinksComeAndGo) {
  std::atomic<bool> done = false;
  const Path volume = dir_.path() / "volume";
  const Path parts = volume / "parts";
  const Path link = volume / "link";
  std::thread swapper([&] {
    while (!done) (void)::renameat2(AT_FDCWD, link.c_str(), AT_FDCWD, parts.c_str(), RENAME_EXCHANGE);
  });
  for (int round = 0; round < 200; ++round) {
    const Path fresh = volume / "fresh";
    (void)::mkdir(fresh.c_str(), 0700);
    std::ofstream(fresh / "precious") << "not so";
    (void)::rename(fresh.c_str(), parts.c_str());
    [[maybe_unused]] const int is_there_already = ::symlink((dir_.path() / "elsewhere").c_str(), link.c_str());
    (void)remove_tree(*volume_, "parts");
  }
  done = true;
  swapper.join();

  expect_elsewhere_untouched();
}

TEST_F(BackingTest, ATreeNestedMoreDeeplyThanAVolumeIsLeftAlone) {
  std::filesystem::create_directories(dir_.path() / "1/2/3/4/5/6/7/8/9/10/11/12");

  const auto removed = remove_tree(*folder_, "1");

  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code(), ErrorCode::kCorruption);
  EXPECT_TRUE(std::filesystem::exists(dir_.path() / "1/2/3/4/5/6/7/8/9/10/11/12"));
}

}  // namespace
}  // namespace dedupfs
