#include "mount/daemon/public_questions.h"

#include <gtest/gtest.h>

#include "fs/test_filesystem.h"

namespace dedupfs {
namespace {

TEST(PublicQuestions, StatisticsAreThoseOfTheControlSocket) {
  TestFilesystem fs;
  FuseMount mount(*fs, {});
  fs.make_file(kRootInode, "f", "content");
  ASSERT_TRUE(ok(fs->sync()));

  const auto makers = public_questions(mount);
  const auto json = nlohmann::json::parse(value_of(makers.at("dedupfs.statistics")()));

  EXPECT_EQ(json.at("files"), 1);
  EXPECT_EQ(json.size(), value_of(committed_statistics(mount)).size());
}

// Who may only look makes the volume write nothing.
TEST(PublicQuestions, CommitNothing) {
  TestFilesystem fs;
  FuseMount mount(*fs, {});
  fs.make_file(kRootInode, "f", "content");

  const auto makers = public_questions(mount);
  const auto json = nlohmann::json::parse(value_of(makers.at("dedupfs.statistics")()));

  EXPECT_EQ(json.at("files"), 0);
  EXPECT_FALSE(fs.after_crash()->find("f"));
}

// A live view asks each second: it takes no walk.
TEST(PublicQuestions, TellWhatGoesOnNow) {
  TestFilesystem fs;
  FuseMount mount(*fs, {});
  fs.make_file(kRootInode, "f", std::string(1 << 20, 'x'));
  ASSERT_TRUE(ok(fs->sync()));

  const auto makers = public_questions(mount);
  const auto json = nlohmann::json::parse(value_of(makers.at("dedupfs.live")()));

  EXPECT_EQ(json.at("scrub").at("running"), false);
  EXPECT_EQ(json.at("reclaim").at("running"), false);
  EXPECT_EQ(json.at("performance").at("stages").at(0).at("name"), "cut");
  EXPECT_EQ(json.at("performance").at("stages").at(0).at("bytes"), 1 << 20);
}

}  // namespace
}  // namespace dedupfs
