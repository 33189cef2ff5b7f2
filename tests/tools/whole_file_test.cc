#include "whole_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

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

}  // namespace
}  // namespace dedupfs::tools
