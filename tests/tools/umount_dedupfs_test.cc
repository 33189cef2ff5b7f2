#include "umount_dedupfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "outcome.h"
#include "served_volume.h"

namespace dedupfs::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(RunUmount, AVolumeThatIsNotMountedIsNamed) {
  const ClosedVolume volume;

  const Outcome outcome = outcome_of(run_umount, {volume.path()});

  EXPECT_EQ(outcome.exit_code, 32);
  EXPECT_THAT(outcome.err, AllOf(StartsWith("umount.dedupfs: "), HasSubstr(volume.path())));
}

TEST(RunUmount, AnErrorIsJsonToo) {
  const ClosedVolume volume;

  const Outcome outcome = outcome_of(run_umount, {"--json", volume.path()});

  EXPECT_EQ(outcome.exit_code, 32);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("\"exit_code\":32"), HasSubstr(volume.path())));
}

TEST(RunUmount, TakesWhatUmountPassesOn) {
  const TempDir folder;

  const Outcome outcome = outcome_of(run_umount, {folder.path().string(), "-n", "-N", "1", "-t", "fuse.dedupfs", "-f"});

  EXPECT_EQ(outcome.exit_code, 32) << "not a usage error";
}

TEST(RunUmount, ATimeoutIsANumberOfSeconds) {
  for (const std::string timeout : {"0", "soon", "-1"}) {
    const Outcome outcome = outcome_of(run_umount, {"/volume", "--timeout", timeout});

    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("--timeout"));
  }
}

}  // namespace
}  // namespace dedupfs::tools
