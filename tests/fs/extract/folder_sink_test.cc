#include "fs/extract/folder_sink.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "fs/extract/extract_of_volume.h"
#include "support/files.h"

namespace dedupfs {
namespace {

struct stat status_of(const Path& path) {
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status;
}

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_in(const Path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

class FolderSinks : public VolumeOfAllKinds {
 protected:
  ExtractTotals take_to(const Path& folder, const ExtractRequest& request = {}, bool overwrites = false) {
    const auto sink = value_of(FolderSink::open({.folder = folder, .overwrites = overwrites}));
    return take(*sink, request);
  }

  const TempDir dir_;
  const Path out_ = dir_.path() / "out";
};

TEST_F(FolderSinks, MakeWhatTheVolumeHolds) {
  EXPECT_EQ(take_to(out_).entries, 7);

  EXPECT_EQ(content_of(out_ / "docs/letter"), letter_text_);
  const struct stat letter = status_of(out_ / "docs/letter");
  EXPECT_EQ(letter.st_mode & 07777, 0640);
  EXPECT_EQ(letter.st_mtim.tv_sec, 1'000'000'000);
  EXPECT_EQ(letter.st_mtim.tv_nsec, 7);
  EXPECT_EQ(letter.st_ino, status_of(out_ / "twin").st_ino);
  const struct stat docs = status_of(out_ / "docs");
  EXPECT_EQ(docs.st_mode & 07777, 0750);
  EXPECT_EQ(docs.st_mtim.tv_sec, 1'000'000'000);
  EXPECT_EQ(std::filesystem::read_symlink(out_ / "docs/old"), "letter");
  EXPECT_TRUE(S_ISFIFO(status_of(out_ / "pipe").st_mode));
  EXPECT_TRUE(std::filesystem::is_empty(out_ / "empty"));
  char author[8]{};
  if (::getxattr((out_ / "twin").c_str(), "user.author", author, sizeof author) < 0)
    EXPECT_EQ(errno, ENOTSUP);  // this disk has none
  else
    EXPECT_STREQ(author, "me");
}

TEST_F(FolderSinks, KeepHoles) {
  take_to(out_, {.paths = {"sparse"}});

  std::string expected(4 << 20, '\0');
  expected.replace(0, 5, "begin");
  expected.replace(1 << 20, 6, "middle");
  EXPECT_EQ(content_of(out_ / "sparse"), expected);
  EXPECT_LT(status_of(out_ / "sparse").st_blocks * 512, 1 << 20);
}

TEST_F(FolderSinks, ReplaceFilesOnlyIfTheyAreToldTo) {
  std::filesystem::create_directories(out_ / "docs");
  overwrite(out_ / "docs/letter", "mine");

  EXPECT_EQ(take_to(out_, {.paths = {"docs"}}).refused, 1);
  EXPECT_TRUE(fails_with(ErrorCode::kExists, Result<void>(failures_.by_path.at("docs/letter"))));
  EXPECT_EQ(content_of(out_ / "docs/letter"), "mine");

  EXPECT_EQ(take_to(out_, {.paths = {"docs"}}, /*overwrites=*/true).refused, 0);
  EXPECT_EQ(content_of(out_ / "docs/letter"), letter_text_);
}

TEST_F(FolderSinks, GoOnWhereAnotherOneWasStopped) {
  take_to(out_, {.paths = {"docs", "pipe"}});  // the rest was not reached
  const auto inode_before = status_of(out_ / "docs/letter").st_ino;

  const ExtractTotals totals = take_to(out_);

  EXPECT_EQ(totals.entries, 7);
  EXPECT_EQ(totals.refused, 0);
  EXPECT_EQ(totals.already_there, 3) << "a file, a symbolic link and a FIFO";
  EXPECT_EQ(status_of(out_ / "docs/letter").st_ino, inode_before);
  EXPECT_EQ(status_of(out_ / "twin").st_ino, inode_before) << "a further name of what was there";
  EXPECT_EQ(take_to(out_).refused, 0) << "with all names there";
}

TEST_F(FolderSinks, TakeNoOtherFileForTheirOwn) {
  take_to(out_);
  struct timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, {.tv_sec = 1'000'000'000, .tv_nsec = 8}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (out_ / "docs/letter").c_str(), times, 0), 0);
  std::filesystem::remove(out_ / "docs/old");
  std::filesystem::create_symlink("elsewhere", out_ / "docs/old");
  std::filesystem::remove(out_ / "pipe");
  overwrite(out_ / "pipe", "");

  EXPECT_GE(take_to(out_).refused, 3);

  for (const char* const name : {"docs/letter", "docs/old", "pipe"})
    EXPECT_TRUE(failures_.by_path.contains(name)) << name;
}

// Whoever asks for it does not believe what is there.
TEST_F(FolderSinks, ReplaceWhatLooksTheSameIfTheyAreToldTo) {
  take_to(out_, {.paths = {"docs"}});
  const auto before = status_of(out_ / "docs/letter");
  overwrite(out_ / "docs/letter", std::string(letter_text_.size(), 'X'));
  const struct timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, (out_ / "docs/letter").c_str(), times, 0), 0);

  EXPECT_EQ(take_to(out_, {.paths = {"docs"}}, /*overwrites=*/true).already_there, 0);

  EXPECT_EQ(content_of(out_ / "docs/letter"), letter_text_);
}

TEST_F(FolderSinks, LeaveFoldersAboveWhatIsAskedForAsTheyAre) {
  std::filesystem::create_directories(out_ / "docs");
  std::filesystem::permissions(out_ / "docs", std::filesystem::perms(0711));

  EXPECT_EQ(take_to(out_, {.paths = {"docs/letter"}}).refused, 0);

  EXPECT_EQ(status_of(out_ / "docs").st_mode & 07777, 0711);
}

TEST_F(FolderSinks, MakeMissingFoldersAboveAsPrivateAsInTheVolume) {
  take_to(out_, {.paths = {"docs/letter"}});

  EXPECT_EQ(status_of(out_ / "docs").st_mode & 07777, 0750);
}

// What a link in the way points to is somebody else's.
TEST_F(FolderSinks, NeverFollowALinkThatLiesInTheFolder) {
  const Path others = dir_.path() / "others";
  std::filesystem::create_directories(others);
  std::filesystem::create_directories(out_);
  std::filesystem::create_symlink(others, out_ / "docs");
  overwrite(others / "file", "theirs");
  std::filesystem::create_symlink(others / "file", out_ / "twin");

  EXPECT_EQ(take_to(out_).refused, 2);
  EXPECT_EQ(take_to(out_, {.paths = {"twin", "docs"}}, /*overwrites=*/true).refused, 0);

  EXPECT_FALSE(std::filesystem::exists(others / "letter"));
  EXPECT_EQ(content_of(others / "file"), "theirs");
  EXPECT_TRUE(std::filesystem::is_directory(std::filesystem::symlink_status(out_ / "docs")));
}

// Two entries of one name: a link to outside, then a folder. Only a hostile volume has them.
TEST_F(FolderSinks, NeverWriteThroughALinkThatTheVolumePlanted) {
  const Path others = dir_.path() / "others";
  std::filesystem::create_directories(others);
  const auto sink = value_of(FolderSink::open({.folder = out_}));
  ExtractEntry link{.path = "a", .name = "a", .attributes = {}};
  const InodeNumber planted = value_of(volume_->make_symlink(kRootInode, "a", others.string(), {})).inode;
  link.attributes = volume_.attributes(planted);
  EntrySource source = source_of(*volume_, link.attributes);
  ASSERT_TRUE(ok(sink->put(link, source)));
  ExtractEntry folder{.path = "a", .name = "a", .attributes = volume_.attributes(value_of(volume_.find("docs")))};

  EXPECT_FALSE(sink->begin_folder(folder, source));
  EXPECT_FALSE(sink->put_link({.path = "b", .name = "b", .attributes = link.attributes}, "a/b"));

  EXPECT_TRUE(std::filesystem::is_empty(others));
}

TEST_F(FolderSinks, TakeSetIdBitsAwayWithTheOwner) {
  const Caller other{.uid = ::geteuid() + 1, .gid = ::getegid()};
  value_of(volume_->create(kRootInode, "tool", 04755, other));

  take_to(out_, {.paths = {"tool"}});

  EXPECT_EQ(status_of(out_ / "tool").st_mode & 07777, 0755);
}

TEST_F(FolderSinks, LeaveNothingOfAFileThatCannotBeRead) {
  const Attributes wrong = volume_.attributes(value_of(volume_.find("docs/old")));  // no content
  Attributes file = wrong;
  file.mode = S_IFREG | 0644;
  file.size = 100;
  const auto sink = value_of(FolderSink::open({.folder = out_}));
  EntrySource source = source_of(*volume_, file);

  EXPECT_FALSE(sink->put({.path = "file", .name = "file", .attributes = file}, source));

  EXPECT_TRUE(source.failure());
  EXPECT_FALSE(std::filesystem::exists(out_ / "file"));
}

TEST_F(FolderSinks, KeepTheFileThatIsThereUntilABetterOneIsWhole) {
  Attributes file = volume_.attributes(value_of(volume_.find("docs/old")));  // no content
  file.mode = S_IFREG | 0644;
  file.size = 100;
  std::filesystem::create_directories(out_);
  overwrite(out_ / "file", "good");
  for (const bool keeps_damaged : {false, true}) {
    const auto sink = value_of(FolderSink::open({.folder = out_, .overwrites = true, .keeps_damaged = keeps_damaged}));
    EntrySource source = source_of(*volume_, file);

    EXPECT_FALSE(sink->put({.path = "file", .name = "file", .attributes = file}, source));

    EXPECT_EQ(content_of(out_ / "file"), "good");
    EXPECT_THAT(names_in(out_), ElementsAre("file"));
  }
}

TEST_F(FolderSinks, ReplaceEachKindAndLeaveNothingElse) {
  take_to(out_);
  const auto before = names_in(out_);
  overwrite(out_ / "docs/letter", "mine");

  const ExtractTotals totals = take_to(out_, {}, /*overwrites=*/true);

  EXPECT_EQ(totals.entries, 7);
  EXPECT_EQ(totals.refused, 0);
  EXPECT_EQ(names_in(out_), before);
  EXPECT_THAT(names_in(out_ / "docs"), ElementsAre("letter", "old"));
  EXPECT_EQ(content_of(out_ / "twin"), letter_text_);
  EXPECT_EQ(status_of(out_ / "docs/letter").st_ino, status_of(out_ / "twin").st_ino);
}

// The kernel lets nobody set such an attribute of a fifo.
TEST_F(FolderSinks, SetTheRestWhereAnAttributeCannotBeSet) {
  const InodeNumber pipe = value_of(volume_.find("pipe"));
  ASSERT_TRUE(ok(volume_->set_xattr(pipe, "user.colour", "red", XattrMode::kSet)));
  AttributeChanges changes;
  changes.mode = 0640;
  changes.mtime = Timestamp{.seconds = 1'000'000'000};
  ASSERT_TRUE(ok(volume_->set_attributes(pipe, changes, {})));

  const ExtractTotals totals = take_to(out_);

  EXPECT_EQ(totals.entries, 7);
  EXPECT_EQ(totals.refused, 1);
  EXPECT_THAT(failures_.by_path.at("pipe").message(), HasSubstr("user.colour"));
  EXPECT_EQ(status_of(out_ / "pipe").st_mode & 07777, 0640);
  EXPECT_EQ(status_of(out_ / "pipe").st_mtim.tv_sec, 1'000'000'000);
}

// ext4 has no room for it, and says that there is no space.
TEST_F(FolderSinks, GoOnBehindAnAttributeThatIsTooLong) {
  const InodeNumber letter = value_of(volume_.find("docs/letter"));
  ASSERT_TRUE(ok(volume_->set_xattr(letter, "user.thumbnail", std::string(60'000, 't'), XattrMode::kSet)));

  const ExtractTotals totals = take_to(out_);

  EXPECT_EQ(totals.entries, 7);
  EXPECT_EQ(status_of(out_ / "docs/letter").st_mode & 07777, 0640);
  EXPECT_EQ(status_of(out_ / "docs/letter").st_ino, status_of(out_ / "twin").st_ino);
  for (const auto& [path, failure] : failures_.by_path) {
    EXPECT_EQ(path, "docs/letter");
    EXPECT_THAT(failure.message(), HasSubstr("user.thumbnail"));
  }
}

TEST_F(FolderSinks, RefuseAFolderThatCannotBeMade) {
  EXPECT_FALSE(FolderSink::open({.folder = dir_.path() / "none/out"}));
}

}  // namespace
}  // namespace dedupfs
