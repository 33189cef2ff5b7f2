// Renames: what they may replace, their place in a listing, whiteouts, and the walk that looks for circles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "support/faulty_backing.h"
#include "test_filesystem.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using enum RenameMode;

constexpr Caller kOwner{.uid = 1000, .gid = 100, .umask = 022};

// ---------------------------------------------------------------- what it may replace

TEST(Rename, ReplacesOneFileByAnother) {
  TestFilesystem fs;
  const InodeNumber directory = fs.make_directory(kRootInode, "d");
  const InodeNumber a = fs.make_file(kRootInode, "a", "new");
  const InodeNumber b = fs.make_file(directory, "b", "old");
  fs->forget(b, 1);

  EXPECT_TRUE(ok(fs->rename(kRootInode, "a", directory, "b", kReplace)));

  EXPECT_EQ(value_of(fs.find("d/b")), a);
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs.find("a")));
  EXPECT_TRUE(fs.inodes_become(3));
}

TEST(Rename, ObeysItsModes) {
  TestFilesystem fs;
  const InodeNumber directory = fs.make_directory(kRootInode, "d");
  const InodeNumber sub = fs.make_directory(directory, "sub");
  const InodeNumber file = fs.make_file(kRootInode, "f");
  const auto rename = [&](InodeNumber from, std::string_view old_name, InodeNumber to, std::string_view new_name,
                          Filesystem::RenameMode mode) { return fs->rename(from, old_name, to, new_name, mode); };

  EXPECT_TRUE(fails_with(ErrorCode::kExists, rename(kRootInode, "f", directory, "sub", kNoReplace)));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, rename(kRootInode, "f", directory, "none", kExchange)));
  EXPECT_TRUE(ok(rename(kRootInode, "f", directory, "sub", kExchange)));

  EXPECT_EQ(value_of(fs.find("f")), sub);
  EXPECT_EQ(value_of(fs.find("d/sub")), file);
  EXPECT_EQ(value_of(fs->lookup(sub, "..")).inode, kRootInode);
  EXPECT_EQ(fs.attributes(directory).links, 2U);
  EXPECT_EQ(fs.attributes(kRootInode).links, 4U);
}

TEST(Rename, ChecksTypes) {
  TestFilesystem fs;
  const InodeNumber full = fs.make_directory(kRootInode, "full");
  fs.make_file(full, "x");
  fs.make_directory(kRootInode, "empty");
  fs.make_file(kRootInode, "file");
  const auto rename = [&](std::string_view from, std::string_view to) {
    return fs->rename(kRootInode, from, kRootInode, to, kReplace);
  };

  EXPECT_TRUE(fails_with(ErrorCode::kNotDirectory, rename("empty", "file")));
  EXPECT_TRUE(fails_with(ErrorCode::kIsDirectory, rename("file", "empty")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotEmpty, rename("empty", "full")));
  EXPECT_TRUE(ok(rename("full", "empty")));
  EXPECT_TRUE(ok(fs.find("empty/x")));
  EXPECT_EQ(fs.attributes(kRootInode).links, 3U);
}

TEST(Rename, DoesNotMoveADirectoryIntoItself) {
  TestFilesystem fs;
  const InodeNumber a = fs.make_directory(kRootInode, "a");
  const InodeNumber b = fs.make_directory(a, "b");
  fs.make_directory(b, "c");

  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs->rename(kRootInode, "a", b, "x", kReplace)));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs->rename(b, "c", kRootInode, "a", kExchange)));
  EXPECT_TRUE(fails_with(ErrorCode::kNotEmpty, fs->rename(b, "c", kRootInode, "a", kReplace)));
}

TEST(Rename, OfOneLinkOntoAnotherDoesNothing) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "a");
  value_of(fs->make_link(file, kRootInode, "b"));

  EXPECT_TRUE(ok(fs->rename(kRootInode, "a", kRootInode, "b", kReplace)));

  EXPECT_EQ(fs.attributes(file).links, 2U);
  EXPECT_TRUE(ok(fs.find("a")));
}

// ---------------------------------------------------------------- the place in a listing

TEST(Rename, WithinADirectoryKeepsThePlace) {
  TestFilesystem fs;
  for (const char* name : {"a", "b", "c"}) fs.make_file(kRootInode, name);
  const Attributes before = fs.attributes(kRootInode);

  ASSERT_TRUE(ok(fs->rename(kRootInode, "a", kRootInode, "z", kReplace)));

  EXPECT_THAT(fs.names(kRootInode), ElementsAre(".", "..", "z", "b", "c"));
  EXPECT_EQ(fs.attributes(kRootInode).size, before.size);
  EXPECT_EQ(fs.attributes(kRootInode).next_cookie, before.next_cookie);
}

TEST(Rename, OntoANameTakesItsPlace) {
  TestFilesystem fs;
  for (const char* name : {"a", "b", "c"}) fs.make_file(kRootInode, name);

  ASSERT_TRUE(ok(fs->rename(kRootInode, "a", kRootInode, "c", kReplace)));

  EXPECT_THAT(fs.names(kRootInode), ElementsAre(".", "..", "b", "c"));
}

// Even a reader who keeps no stream, as NFS does, gets to the end.
TEST(Rename, OfEachEntryThatIsReadDoesNotKeepAReaderBusyForEver) {
  TestFilesystem fs;
  for (int i = 0; i < 500; ++i) fs.make_file(kRootInode, "file" + std::to_string(i));
  std::size_t seen = 0;

  for (std::uint64_t cookie = 2; seen < 2000;) {
    const std::vector<DirectoryEntry> entries = fs.list(kRootInode, cookie, 10);
    if (entries.empty()) break;
    for (const DirectoryEntry& entry : entries) {
      ASSERT_TRUE(ok(fs->rename(kRootInode, entry.name, kRootInode, "temporary", kReplace)));
      ASSERT_TRUE(ok(fs->rename(kRootInode, "temporary", kRootInode, entry.name, kReplace)));
    }
    seen += entries.size();
    cookie = entries.back().cookie;
  }

  EXPECT_EQ(seen, 500U);
}

// ---------------------------------------------------------------- whiteouts

void expect_whiteout(TestFilesystem& fs, std::string_view path) {
  const Attributes whiteout = fs.attributes(value_of(fs.find(path)));
  EXPECT_EQ(whiteout.mode, static_cast<std::uint32_t>(S_IFCHR));
  EXPECT_EQ(whiteout.device, 0U);
  EXPECT_EQ(whiteout.links, 1U);
  EXPECT_EQ(whiteout.uid, kOwner.uid);
  EXPECT_EQ(whiteout.gid, kOwner.gid);
}

TEST(Rename, LeavesAWhiteoutAtTheOldName) {
  TestFilesystem fs;
  const InodeNumber directory = fs.make_directory(kRootInode, "d");
  const InodeNumber file = fs.make_file(kRootInode, "f", "text");
  const InodeNumber moved = fs.make_directory(kRootInode, "moved");

  ASSERT_TRUE(ok(fs->rename(kRootInode, "f", directory, "f", kWhiteout, kOwner)));
  ASSERT_TRUE(ok(fs->rename(directory, "f", directory, "g", kWhiteout, kOwner)));
  ASSERT_TRUE(ok(fs->rename(kRootInode, "moved", directory, "moved", kWhiteout, kOwner)));

  EXPECT_EQ(value_of(fs.find("d/g")), file);
  EXPECT_EQ(value_of(fs.find("d/moved")), moved);
  for (const char* path : {"f", "d/f", "moved"}) expect_whiteout(fs, path);
  EXPECT_THAT(fs.names(kRootInode), ElementsAre(".", "..", "d", "f", "moved"));
  EXPECT_EQ(fs.attributes(kRootInode).links, 3U);
  EXPECT_EQ(fs.attributes(directory).links, 3U);
  const auto crashed = fs.after_crash();
  EXPECT_TRUE(
      fails_with(ErrorCode::kNotFound, crashed->find("f")));  // nothing was committed, so nothing of it is there
  ASSERT_TRUE(ok(fs->sync()));
  expect_whiteout(*fs.after_crash(), "f");
}

TEST(Rename, WithAWhiteoutReplacesUnlessToldNotTo) {
  TestFilesystem fs;
  const InodeNumber one = fs.make_file(kRootInode, "one");
  fs.make_file(kRootInode, "two");
  const std::uint64_t inodes = value_of(fs->space()).inodes;

  EXPECT_TRUE(
      fails_with(ErrorCode::kExists, fs->rename(kRootInode, "one", kRootInode, "two", kWhiteoutNoReplace, kOwner)));
  EXPECT_EQ(value_of(fs->space()).inodes, inodes);
  EXPECT_TRUE(ok(fs->rename(kRootInode, "one", kRootInode, "two", kWhiteout, kOwner)));
  EXPECT_TRUE(ok(fs->rename(kRootInode, "two", kRootInode, "three", kWhiteoutNoReplace, kOwner)));

  EXPECT_EQ(value_of(fs.find("three")), one);
  expect_whiteout(fs, "one");
  expect_whiteout(fs, "two");
}

TEST(Rename, LeavesNoWhiteoutWhereItDoesNothingOrFails) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "a");
  value_of(fs->make_link(file, kRootInode, "b"));
  const InodeNumber directory = fs.make_directory(kRootInode, "d");

  EXPECT_TRUE(ok(fs->rename(kRootInode, "a", kRootInode, "b", kWhiteout, kOwner)));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs->rename(kRootInode, "d", directory, "x", kWhiteout, kOwner)));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs->rename(kRootInode, "none", directory, "x", kWhiteout, kOwner)));

  EXPECT_EQ(value_of(fs.find("a")), file);
  EXPECT_EQ(value_of(fs.find("d")), directory);
  EXPECT_EQ(value_of(fs->space()).inodes, 3U);
}

// ---------------------------------------------------------------- circles

TEST(Rename, LooksForCirclesWhereDirectoriesAreNow) {
  TestFilesystem fs;
  const InodeNumber a = fs.make_directory(kRootInode, "a");
  const InodeNumber b = fs.make_directory(a, "b");
  const InodeNumber c = fs.make_directory(b, "c");
  const InodeNumber other = fs.make_directory(kRootInode, "other");
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs->rename(kRootInode, "a", c, "x", kReplace)));

  ASSERT_TRUE(ok(fs->rename(a, "b", other, "b", kReplace)));

  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs->rename(kRootInode, "other", c, "x", kReplace)));
  EXPECT_TRUE(ok(fs->rename(kRootInode, "a", c, "x", kReplace)));
  EXPECT_EQ(value_of(fs.find("other/b/c/x")), a);
}

TEST(Rename, LooksForCirclesAnewAfterARollback) {
  TestFilesystem fs;
  const InodeNumber a = fs.make_directory(kRootInode, "a");
  const InodeNumber b = fs.make_directory(a, "b");
  ASSERT_TRUE(ok(fs->create_snapshot("before")));
  ASSERT_TRUE(ok(fs->rename(a, "b", kRootInode, "b", kReplace)));
  ASSERT_TRUE(ok(fs->rename(kRootInode, "a", b, "a", kReplace)));

  value_of(fs->roll_back("before"));

  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs->rename(kRootInode, "a", b, "x", kReplace)));
  EXPECT_TRUE(ok(fs->rename(a, "b", kRootInode, "b", kReplace)));
}

// Stops one thread at its reads of the index.
class StoppedReader {
 public:
  StoppedReader(FaultyBacking& backing, int reads_before) : left_(reads_before) {
    backing.before_read = [this](const Path&) {
      if (std::this_thread::get_id() != reader_ || left_-- > 0) return;
      stopped_.set_value();
      go_on_.get_future().wait();
      reader_ = std::thread::id();
    };
  }
  void begin() { reader_ = std::this_thread::get_id(); }  // on the thread that is to stop
  bool stops() { return stopped_.get_future().wait_for(std::chrono::seconds(60)) == std::future_status::ready; }
  void go_on() { go_on_.set_value(); }

 private:
  std::atomic<std::thread::id> reader_{};
  int left_;
  std::promise<void> stopped_;
  std::promise<void> go_on_;
};

TEST(Rename, InADeepTreeKeepsNeitherCommitsNorOtherNamesWaiting) {
  constexpr int kDepth = 3000;
  auto backing = std::make_shared<FaultyBacking>();
  StoppedReader reader(*backing, 8);  // outlives the index, which reads in the background, too
  TestFilesystem fs;
  fs.use(backing);
  InodeNumber deepest = kRootInode;
  for (int i = 0; i < kDepth; ++i) {
    deepest = fs.make_directory(deepest, "d");
    for (int filler = 0; filler < 5; ++filler) fs.make_file(deepest, "file" + std::to_string(filler));
  }
  fs.make_directory(kRootInode, "moved");
  fs.reopen();  // so that the walk has to read from the disk

  auto renaming = std::async(std::launch::async, [&] {
    reader.begin();
    return fs->rename(kRootInode, "moved", deepest, "moved", kReplace);
  });
  ASSERT_TRUE(reader.stops());
  auto others = std::async(std::launch::async, [&]() -> Result<void> {
    DEDUPFS_TRY(fs->create(kRootInode, "new", 0644, {}));
    DEDUPFS_TRY(fs->rename(kRootInode, "new", value_of(fs.find("d")), "renamed", kReplace));
    return fs->sync();
  });
  const bool went_on = others.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
  reader.go_on();

  EXPECT_TRUE(went_on);
  EXPECT_TRUE(ok(others.get()));
  EXPECT_TRUE(ok(renaming.get()));
}

}  // namespace
}  // namespace dedupfs
