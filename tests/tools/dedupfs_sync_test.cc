#include "dedupfs_sync.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "manual.h"
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

TEST(RunSync, JsonNamesEachOfThem) {
  const TempDir folder;
  const std::string path = folder.path() / "first";

  const Outcome outcome = outcome_of(run_sync, {"--json", path});

  EXPECT_EQ(outcome.exit_code, 2);
  const auto mount = nlohmann::json::parse(outcome.out).at("mounts").at(0);
  EXPECT_EQ(mount.at("path"), path);
  EXPECT_EQ(mount.at("synced"), false);
  EXPECT_THAT(mount.at("failure").get<std::string>(), HasSubstr(path));
  EXPECT_EQ(keys_missing_in(manual_text("dedupfs-sync.8"), mount), "");
}

}  // namespace
}  // namespace dedupfs::tools
