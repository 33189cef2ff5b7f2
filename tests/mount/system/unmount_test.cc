#include "mount/system/unmount.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "mount/private_mounts.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

TEST(Unmount, TakesTheMountAway) {
  const TempDir place;
  in_private_mounts([&] {
    mount_tmpfs(place.path());
    EXPECT_TRUE(unmount(place.path(), UnmountMode::kNormal));
    EXPECT_TRUE(mounts_at(place.path()).empty());
  });
}

TEST(Unmount, TheTopmostOfSeveralGoesFirst) {
  const TempDir place;
  in_private_mounts([&] {
    mount_tmpfs(place.path());
    mount_tmpfs(place.path(), MS_NODEV);
    EXPECT_TRUE(unmount(place.path(), UnmountMode::kNormal));
    ASSERT_EQ(mounts_at(place.path()).size(), 1u);
    EXPECT_EQ(mounts_at(place.path())[0].mount_options.find("nodev"), std::string::npos);
  });
}

TEST(Unmount, WhereNothingIsMountedIsAnError) {
  const TempDir place;
  in_private_mounts([&] { EXPECT_FALSE(unmount(place.path(), UnmountMode::kNormal)); });
}

TEST(Unmount, OpenFilesKeepAMountButNotALazyUnmount) {
  const TempDir place;
  for (const UnmountMode mode : {UnmountMode::kLazy, UnmountMode::kAbort}) {
    in_private_mounts([&] {
      mount_tmpfs(place.path());
      const UniqueFd open(::open((place.path() / "f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
      for (const UnmountMode refused : {UnmountMode::kNormal, UnmountMode::kForce}) {
        const auto result = unmount(place.path(), refused);
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().code(), ErrorCode::kBusy);
      }
      EXPECT_TRUE(unmount(place.path(), mode));
      EXPECT_TRUE(mounts_at(place.path()).empty());
    });
  }
}

// Whoever may write to the folder above could put it there.
TEST(Unmount, ALinkIsNotFollowed) {
  const TempDir place;
  std::filesystem::create_directory(place.path() / "mounted");
  std::filesystem::create_directory_symlink(place.path() / "mounted", place.path() / "link");
  in_private_mounts([&] {
    mount_tmpfs(place.path() / "mounted");
    EXPECT_FALSE(unmount(place.path() / "link", UnmountMode::kLazy));
    EXPECT_EQ(mounts_at(place.path() / "mounted").size(), 1u);
  });
}

TEST(Unmount, AUserCannotTakeTheMountsOfOthers) {
  if (::geteuid() != 0) GTEST_SKIP() << "another user needs root";
  const TempDir place;
  in_private_mounts([&] {
    mount_tmpfs(place.path());
    constexpr uid_t kNobody = 65534;
    if (::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(kNotAllowedHere);
    const int quiet = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(quiet, STDERR_FILENO);  // fusermount3 says why
    for (const UnmountMode mode : {UnmountMode::kNormal, UnmountMode::kLazy}) EXPECT_FALSE(unmount(place.path(), mode));
    EXPECT_EQ(mounts_at(place.path()).size(), 1u);
  });
}

}  // namespace
}  // namespace dedupfs
