#include "dedupfs_clone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "outcome.h"
#include "support/temp_dir.h"

namespace dedupfs::tools {
namespace {

Outcome clone_with(const std::vector<std::string>& arguments) {
  return outcome_of(run_clone, arguments, Process());
}

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class CloneTest : public testing::Test {
 protected:
  CloneTest() { std::ofstream(file_) << "text"; }

  TempDir folder_;
  const std::string file_ = folder_.path() / "file";
};

TEST_F(CloneTest, AMissingSourceIsNamed) {
  const Outcome outcome = clone_with({folder_.path() / "missing", folder_.path() / "copy"});

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, StartsWith("dedupfs-clone: " + (folder_.path() / "missing").string()));
}

TEST_F(CloneTest, ACopyThatIsThereIsKept) {
  const std::string other = folder_.path() / "other";
  std::ofstream(other) << "precious";

  const Outcome outcome = clone_with({file_, other});

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(other + " is there already"), HasSubstr("choose another name")));
}

TEST_F(CloneTest, AFolderTakesTheCopy) {
  std::filesystem::create_directories(folder_.path() / "into" / "file");

  const Outcome outcome = clone_with({file_, folder_.path() / "into"});

  EXPECT_THAT(outcome.err, HasSubstr("into/file is there already"));
}

TEST_F(CloneTest, NeedsAMountedVolume) {
  const Outcome outcome = clone_with({"--json", file_, folder_.path() / "copy"});

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("\"exit_code\":2"), HasSubstr("not in a mounted dedupfs volume")));
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(file_), HasSubstr("not in a mounted dedupfs volume")));
}

}  // namespace
}  // namespace dedupfs::tools
