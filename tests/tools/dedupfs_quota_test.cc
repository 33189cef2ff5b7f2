#include "dedupfs_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "outcome.h"
#include "support/temp_dir.h"

namespace dedupfs::tools {
namespace {

Outcome quota_with(const std::vector<std::string>& arguments) {
  return outcome_of(run_quota, arguments, Process());
}

using testing::HasSubstr;

struct QuotaTool : testing::Test {
  TempDir folder_;
};

TEST_F(QuotaTool, NeedsAMountedVolume) {
  const Outcome outcome = quota_with({"set", "--logical", "1g", folder_.path()});

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("not in a mounted dedupfs volume"));
}

TEST_F(QuotaTool, AFileHasNoQuota) {
  const std::string file = folder_.path() / "file";
  std::ofstream(file) << "text";

  const Outcome outcome = quota_with({"show", file});

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("is not a directory"));
}

TEST_F(QuotaTool, LimitsAreSizesAndOneIsNeeded) {
  EXPECT_EQ(quota_with({"set", folder_.path()}).exit_code, 1);
  const Outcome outcome = quota_with({"set", "--stored", "much", folder_.path()});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("'much' is not a size"));
  const Outcome negative = quota_with({"set", folder_.path(), "--files", "-1"});
  EXPECT_EQ(negative.exit_code, 1);
  EXPECT_THAT(negative.err, HasSubstr("--files: '-1' is not a whole number"));
}

}  // namespace
}  // namespace dedupfs::tools
