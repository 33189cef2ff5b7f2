#include "mount/daemon/public_questions.h"

#include <gtest/gtest.h>

#include "fs/test_filesystem.h"

namespace dedupfs {
namespace {

TEST(PublicQuestions, StatisticsAreThoseOfTheControlSocket) {
  TestFilesystem fs;
  fs.make_file(kRootInode, "f", "content");
  ASSERT_TRUE(ok(fs->sync()));

  const auto makers = public_questions(*fs);
  const auto json = nlohmann::json::parse(value_of(makers.at("dedupfs.statistics")()));

  EXPECT_EQ(json.at("files"), 1);
  EXPECT_EQ(json.size(), value_of(committed_statistics(*fs)).size());
}

// Who may only look makes the volume write nothing.
TEST(PublicQuestions, CommitNothing) {
  TestFilesystem fs;
  fs.make_file(kRootInode, "f", "content");

  const auto makers = public_questions(*fs);
  const auto json = nlohmann::json::parse(value_of(makers.at("dedupfs.statistics")()));

  EXPECT_EQ(json.at("files"), 0);
  EXPECT_FALSE(fs.after_crash()->find("f"));
}

}  // namespace
}  // namespace dedupfs
