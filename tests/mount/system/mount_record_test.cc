#include "mount/system/mount_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "mount/private_mounts.h"
#include "mount/system/unmount.h"
#include "support/files.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

struct MountRecord : testing::Test {
  TempDir folder;
  const Path table = folder.path() / "utab";
  const Path place = folder.path() / "mounted";

  void SetUp() override { std::filesystem::create_directory(place); }
  // The table of the machine is not touched.
  void with_own_table(const std::function<void()>& body) const {
    in_private_mounts([&] {
      ::setenv("LIBMOUNT_UTAB", table.c_str(), 1);
      body();
    });
  }
  std::string records() const { return std::filesystem::exists(table) ? content_of(table) : ""; }
  std::ptrdiff_t count() const {
    const std::string text = records();
    return std::ranges::count(text, '\n');
  }
};

TEST_F(MountRecord, NamesTheHelperThatUmountCalls) {
  with_own_table([&] {
    mount_tmpfs(place);
    ASSERT_TRUE(record_mount(place, "/srv/volume"));
    EXPECT_THAT(records(), HasSubstr("helper=dedupfs"));
    EXPECT_THAT(records(), HasSubstr("SRC=/srv/volume"));
    EXPECT_THAT(records(), HasSubstr("TARGET=" + place.string()));
  });
}

TEST_F(MountRecord, ReplacesThatOfAMountThatIsGone) {
  with_own_table([&] {
    mount_tmpfs(place);
    ASSERT_TRUE(record_mount(place, "/srv/before"));
    ASSERT_TRUE(record_mount(place, "/srv/now"));
    EXPECT_EQ(count(), 1);
    EXPECT_THAT(records(), HasSubstr("/srv/now"));
  });
}

TEST_F(MountRecord, LeavesThatOfTheMountBelow) {
  with_own_table([&] {
    mount_tmpfs(place);
    ASSERT_TRUE(record_mount(place, "/srv/below"));
    mount_tmpfs(place);
    ASSERT_TRUE(record_mount(place, "/srv/above"));
    EXPECT_EQ(count(), 2);
  });
}

TEST_F(MountRecord, IsForgottenWhenNothingIsMountedThereAnyMore) {
  with_own_table([&] {
    mount_tmpfs(place);
    ASSERT_TRUE(record_mount(place, "/srv/volume"));
    ASSERT_TRUE(forget_mount(place));
    EXPECT_EQ(count(), 1) << "it is still mounted";
    ASSERT_EQ(::umount2(place.c_str(), 0), 0);
    ASSERT_TRUE(forget_mount(place));
    EXPECT_EQ(count(), 0);
    EXPECT_TRUE(forget_mount(place)) << "there is none";
  });
}

TEST_F(MountRecord, GoesWithTheMount) {
  with_own_table([&] {
    mount_tmpfs(place);
    ASSERT_TRUE(record_mount(place, "/srv/volume"));
    ASSERT_TRUE(unmount(place, UnmountMode::kNormal));
    EXPECT_EQ(count(), 0);
  });
}

TEST_F(MountRecord, OthersStay) {
  std::filesystem::create_directory(folder.path() / "other");
  with_own_table([&] {
    mount_tmpfs(place);
    mount_tmpfs(folder.path() / "other");
    ASSERT_TRUE(record_mount(folder.path() / "other", "/srv/other"));
    ASSERT_TRUE(record_mount(place, "/srv/volume"));
    ASSERT_EQ(::umount2(place.c_str(), 0), 0);
    ASSERT_TRUE(forget_mount(place));
    EXPECT_EQ(count(), 1);
    EXPECT_THAT(records(), HasSubstr("/srv/other"));
  });
}

TEST_F(MountRecord, ATableThatCannotBeWrittenIsAnError) {
  in_private_mounts([&] {
    ::setenv("LIBMOUNT_UTAB", "/proc/no/such/utab", 1);
    mount_tmpfs(place);
    const auto recorded = record_mount(place, "/srv/volume");
    ASSERT_FALSE(recorded);
    EXPECT_THAT(recorded.error().message(), HasSubstr("libmount"));
  });
}

}  // namespace
}  // namespace dedupfs
