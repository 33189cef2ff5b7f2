#include "whole_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/unique_fd.h"
#include "support/temp_dir.h"

namespace dedupfs::tools {
namespace {

std::string content_of(const Path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}
std::size_t entries_of(const Path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(ReplaceWholeFile, MakesAFileThatEverybodyMayRead) {
  const TempDir folder;
  const Path file = folder.path() / "metrics.prom";

  ASSERT_TRUE(replace_whole_file(file, "one\n"));

  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
  EXPECT_EQ(content_of(file), "one\n");
}

TEST(ReplaceWholeFile, MakesAFileForItsOwner) {
  const TempDir folder;
  const Path file = folder.path() / "report.html";
  ASSERT_TRUE(replace_whole_file(file, "old"));

  ASSERT_TRUE(replace_whole_file(file, "new", FileReaders::kOwner));

  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(ReplaceWholeFile, AReaderOfTheOldFileKeepsIt) {
  const TempDir folder;
  const Path file = folder.path() / "metrics.prom";
  ASSERT_TRUE(replace_whole_file(file, "old"));
  std::ifstream reader(file);

  ASSERT_TRUE(replace_whole_file(file, "new, and longer"));

  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "old");
  EXPECT_EQ(content_of(file), "new, and longer");
  EXPECT_EQ(entries_of(folder.path()), 1u);
}

TEST(ReplaceWholeFile, AFailureLeavesNothing) {
  const TempDir folder;
  const Path in_the_way = folder.path() / "folder";
  std::filesystem::create_directory(in_the_way);

  EXPECT_FALSE(replace_whole_file(in_the_way, "text"));
  EXPECT_FALSE(replace_whole_file(folder.path() / "missing" / "file", "text"));

  EXPECT_EQ(entries_of(folder.path()), 1u);
}

TEST(ReplaceWholeFile, ADirectoryIsNamed) {
  const TempDir folder;

  const auto written = replace_whole_file(folder.path(), "text");

  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::kIsDirectory);
  EXPECT_THAT(written.error().message(), testing::HasSubstr(folder.path().string()));
}

TEST(ReplaceWholeFile, ALinkIsFollowed) {
  const TempDir folder;
  const Path file = folder.path() / "file";
  const Path link = folder.path() / "link";
  ASSERT_TRUE(replace_whole_file(file, "old"));
  std::filesystem::create_symlink("file", link);
  std::ifstream reader(file);

  ASSERT_TRUE(replace_whole_file(link, "new"));

  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(content_of(file), "new");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "old");
}

TEST(ReplaceWholeFile, WhatALinkLeadsToIsMade) {
  const TempDir folder;
  const Path link = folder.path() / "link";
  std::filesystem::create_symlink("file", link);

  ASSERT_TRUE(replace_whole_file(link, "new", FileReaders::kOwner));

  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(content_of(folder.path() / "file"), "new");
}

// Stands for devices, which only root can make.
TEST(ReplaceWholeFile, AFifoIsWrittenInto) {
  const TempDir folder;
  const Path fifo = folder.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const UniqueFd reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));

  ASSERT_TRUE(replace_whole_file(fifo, "text"));

  std::string got(16, '\0');
  EXPECT_EQ(::read(reader.get(), got.data(), got.size()), 4);
  EXPECT_EQ(got.substr(0, 4), "text");
  EXPECT_EQ(entries_of(folder.path()), 1u);
}

TEST(ReplaceWholeFile, ADescriptorIsWrittenInto) {
  const TempDir folder;
  const Path file = folder.path() / "file";
  const Path link = folder.path() / "link";
  const UniqueFd descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const Path name = "/dev/fd/" + std::to_string(descriptor.get());
  std::filesystem::create_symlink(name, link);

  for (const Path& given : {name, link}) {
    ASSERT_TRUE(replace_whole_file(given, "text"));

    std::string got(16, '\0');
    EXPECT_EQ(::pread(descriptor.get(), got.data(), got.size(), 0), 4) << given;
  }
}

TEST(ReplaceWholeFile, APipeIsWrittenInto) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);

  ASSERT_TRUE(replace_whole_file("/dev/fd/" + std::to_string(writer.get()), "text"));

  std::string got(16, '\0');
  EXPECT_EQ(::read(reader.get(), got.data(), got.size()), 4);
}

}  // namespace
}  // namespace dedupfs::tools
