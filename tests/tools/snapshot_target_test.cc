#include "snapshot_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "served_volume.h"

namespace dedupfs::tools {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kThen = 1'700'000'000;

std::int64_t date_of_first(const SnapshotTarget::Snapshots& snapshots) {
  return snapshots.all.at(0).created_unix_seconds;
}

TEST(SnapshotTarget, ACopyHasTheDateOfItsOriginalMountedOrNot) {
  const ServedVolume served;
  const ClosedVolume closed;
  for (const std::string& path : {served.path(), closed.path()}) {
    SnapshotTarget target = value_of(SnapshotTarget::open(path, SnapshotTarget::Access::kChange, /*foreign=*/false));

    EXPECT_EQ(date_of_first(value_of(target.create("copy", kThen))), kThen);
    EXPECT_TRUE(ok(target.close()));
  }
}

TEST(SnapshotTarget, ADaemonThatKnowsNoDatesLeavesNoSnapshotOfToday) {
  TestFilesystem filesystem;
  const MountRequest request{.volume = filesystem.path(), .mountpoint = "/nowhere", .options = {}, .version = "old"};
  FuseMount mount(*filesystem, request.options);
  auto handlers = control_handlers(mount, request, /*shipper=*/nullptr);
  handlers["snapshot"] = [handle = handlers.at("snapshot")](nlohmann::json asked,
                                                            const ControlServer::StillWanted& wanted) {
    asked.erase("created_unix_seconds");
    return handle(asked, wanted);
  };
  const auto server = value_of(ControlServer::start(*filesystem->volume().folder(), handlers, {}));
  SnapshotTarget target =
      value_of(SnapshotTarget::open(filesystem.path(), SnapshotTarget::Access::kChange, /*foreign=*/false));

  const auto made = target.create("copy", kThen);

  ASSERT_TRUE(fails_with(ErrorCode::kUnsupported, made));
  EXPECT_THAT(made.error().message(), HasSubstr("is older"));
  EXPECT_THAT(value_of(target.list()).all, IsEmpty());
  EXPECT_TRUE(ok(target.create("of today")));
}

}  // namespace
}  // namespace dedupfs::tools
