#include "fs/inodes/damage_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>
#include <string>

#include "base/mutex.h"
#include "fs/test_metadata.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

class DamageLogTest : public testing::Test {
 protected:
  void SetUp() override {
    metadata_.put_directory(kRootInode, kRootInode);
    metadata_.put_directory(2, kRootInode);
    metadata_.put_directory(3, 2);
    metadata_.put_file(4);
    let_be_reached(2, kRootInode, "outer");
    let_be_reached(4, 3, "file");
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(lines_);
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", std::move(sink)));
  }
  void TearDown() override { spdlog::set_default_logger(before_); }

  Inode& inode(InodeNumber number) { return **kept_.insert(kept_.end(), table_.get(number).value()); }
  void let_be_reached(InodeNumber number, InodeNumber parent, const std::string& name) {
    Inode& reached = inode(number);
    const MutexLock lock(reached.mutex);
    reached.last_parent = parent;
    reached.last_name = name;
  }
  std::string logged() {
    std::string text = lines_.str();
    lines_.str("");
    return text;
  }

  TestMetadata metadata_;
  InodeTable table_{*metadata_, 1000};
  DamageLog log_{table_, metadata_.snapshots()};
  std::vector<InodePtr> kept_;
  std::ostringstream lines_;
  const std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

TEST_F(DamageLogTest, APathIsMadeOfTheNamesThatLedThere) {
  EXPECT_EQ(log_.path_of(inode(4)), "/outer/[3]/file");
  let_be_reached(3, 2, "inner");
  EXPECT_EQ(log_.path_of(inode(4)), "/outer/inner/file");
  metadata_.put_file(5);
  EXPECT_EQ(log_.path_of(inode(5)), "name unknown");
}

TEST_F(DamageLogTest, APathOfASnapshotBeginsWithItsName) {
  metadata_.snapshots().put({.number = 1, .name = "monday"});
  Inode old(node_of(1, 4));
  {
    const MutexLock lock(old.mutex);
    old.last_parent = node_of(1, kRootInode);
    old.last_name = "file";
  }

  EXPECT_EQ(log_.path_of(old), "/.snapshots/monday/file");
}

TEST_F(DamageLogTest, DirectoriesInACircleDoNotKeepItBusy) {
  metadata_.put_directory(6, 7);
  metadata_.put_directory(7, 6);
  let_be_reached(4, 6, "file");

  EXPECT_THAT(log_.path_of(inode(4)), testing::EndsWith("[7]/[6]/file"));
}

TEST_F(DamageLogTest, EachMessageOfAnInodeIsLoggedOnce) {
  const Error damage(ErrorCode::kCorruption, "a chunk is lost");

  EXPECT_EQ(log_.note(inode(4), damage).message(), damage.message());
  EXPECT_THAT(logged(), HasSubstr("inode 4 (/outer/[3]/file): a chunk is lost"));
  EXPECT_EQ(log_.note(inode(4), damage).code(), ErrorCode::kCorruption);
  EXPECT_EQ(logged(), "");
  (void)log_.note(inode(4), {ErrorCode::kIo, "the disk fails"});
  EXPECT_THAT(logged(), HasSubstr("the disk fails"));
  (void)log_.note(inode(2), damage);
  EXPECT_THAT(logged(), HasSubstr("inode 2 (/outer): a chunk is lost"));
}

TEST_F(DamageLogTest, WhatTellsOfNoDamageIsNotLogged) {
  EXPECT_EQ(log_.note(inode(4), {ErrorCode::kNoSpace, "full"}).code(), ErrorCode::kNoSpace);
  EXPECT_EQ(logged(), "");
}

}  // namespace
}  // namespace dedupfs
