#include "dedupfs_sync.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "outcome.h"
#include "served_volume.h"

namespace dedupfs::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(RunSync, AVolumeThatIsNotMountedIsNamed) {
  const ClosedVolume volume;

  const Outcome outcome = outcome_of(run_sync, {volume.path()});

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(volume.path()), HasSubstr("is not mounted")));
}

TEST(RunSync, EachOfSeveralIsTried) {
  const TempDir folder;
  const std::string first = folder.path() / "first";
  const std::string second = folder.path() / "second";

  const Outcome outcome = outcome_of(run_sync, {"-v", first, second});

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("dedupfs-sync: committing " + first), HasSubstr("dedupfs-sync: " + first),
                    HasSubstr("dedupfs-sync: committing " + second), HasSubstr("dedupfs-sync: " + second)));
}

}  // namespace
}  // namespace dedupfs::tools
