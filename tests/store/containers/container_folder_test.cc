#include "store/containers/container_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "store/format/container_format.h"
#include "support/faulty_backing.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;

class ContainerFolderTest : public testing::Test {
 protected:
  Path file(std::uint32_t number) const { return directory_.path() / container_name(number); }
  void write_file(std::uint32_t number) { std::ofstream(file(number)) << "content"; }

  std::string read(std::uint32_t number) {
    ByteBuffer bytes(100);
    const auto filled = folder_.read_up_to(number, 0, bytes);
    return filled ? std::string(text_of(ByteSpan(bytes).first(*filled))) : filled.error().message();
  }

  TempDir directory_;
  std::shared_ptr<FaultyBacking> backing_ = std::make_shared<FaultyBacking>();
  ContainerFolder folder_{backing_->open_root(directory_.path()).value()};
};

TEST_F(ContainerFolderTest, AFileIsOpenedOnce) {
  write_file(7);

  EXPECT_EQ(read(7), "content");
  EXPECT_EQ(read(7), "content");
  EXPECT_EQ(folder_.size(7), 7u);

  EXPECT_THAT(backing_->log(), ElementsAre("open " + container_name(7)));
}

TEST_F(ContainerFolderTest, WhatIsAppendedToANewContainerIsReadThroughItsDescriptor) {
  const auto created = folder_.create(7);
  ASSERT_TRUE(created);
  ASSERT_TRUE((*created)->write(0, bytes_of("one")));
  EXPECT_EQ(read(7), "one");
  ASSERT_TRUE((*created)->write(3, bytes_of(" two")));

  EXPECT_EQ(read(7), "one two");
  EXPECT_THAT(backing_->log(),
              ElementsAre("open " + container_name(7), "write " + container_name(7), "write " + container_name(7)));
}

TEST_F(ContainerFolderTest, AContainerIsCreatedOnceOnly) {
  ASSERT_TRUE(folder_.create(7));

  const auto again = folder_.create(7);

  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::kExists);
}

TEST_F(ContainerFolderTest, SyncIsThatOfTheFolder) {
  ASSERT_TRUE(folder_.sync());

  EXPECT_THAT(backing_->log(), ElementsAre("sync_directory " + directory_.path().filename().string()));
}

TEST_F(ContainerFolderTest, FewFilesAreOpenAtATime) {
  for (std::uint32_t number = 1; number <= 200; ++number) write_file(number);
  const auto open_files = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); };
  const auto before = open_files();

  for (std::uint32_t number = 1; number <= 200; ++number) EXPECT_EQ(read(number), "content");

  EXPECT_LE(open_files(), before + 64);
}

TEST_F(ContainerFolderTest, TheFileThatWasUsedLastStaysOpen) {
  for (std::uint32_t number = 1; number <= 200; ++number) write_file(number);
  for (std::uint32_t number = 2; number <= 200; ++number) {
    read(1);
    read(number);
  }
  backing_->clear_log();

  read(1);
  read(200);
  read(2);

  EXPECT_THAT(backing_->log(), ElementsAre("open " + container_name(2)));
}

TEST_F(ContainerFolderTest, ALinkIsNeverFollowed) {
  std::ofstream(directory_.path() / "elsewhere") << "content";
  std::filesystem::create_symlink("elsewhere", file(7));
  std::filesystem::create_directory(file(8));

  EXPECT_EQ(folder_.size(7).error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(folder_.size(8).error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(*folder_.list(), ElementsAre(7, 8)) << "something has their names";
}

TEST_F(ContainerFolderTest, OtherNamesAreIgnored) {
  for (const char* name : {"1.container", "0000000002.container.new", "00000000003.container", "4294967296.container"})
    std::ofstream(directory_.path() / name) << "strange";
  write_file(5);

  EXPECT_THAT(*folder_.list(), ElementsAre(5));
}

TEST_F(ContainerFolderTest, AContainerThatCannotBeRemovedIsStillRead) {
  write_file(7);
  backing_->fault = [](const std::string& operation, const Path&) -> std::optional<Error> {
    if (operation == "unlink") return Error{ErrorCode::kIo, "no"};
    return std::nullopt;
  };

  EXPECT_FALSE(folder_.remove(7));

  EXPECT_EQ(read(7), "content");
}

}  // namespace
}  // namespace dedupfs
