#include "dedupfs_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "outcome.h"
#include "support/temp_dir.h"

namespace dedupfs::tools {
namespace {

using testing::HasSubstr;

TEST(RunImport, RefusesAPlaceThatIsInNoMount) {
  const TempDir dir;

  const Outcome outcome = outcome_of(run_import, {"borg", "/repo", "--into", dir.path()}, Process());

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("not in a mounted dedupfs volume"));
}

TEST(RunImport, KnowsBorgAndRestic) {
  const Outcome outcome = outcome_of(run_import, {"tape", "/repo", "--into", "/"}, Process());

  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("borg"));
}

}  // namespace
}  // namespace dedupfs::tools
