#include "mount/system/mount_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>

#include "store/format/format.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

constexpr std::string_view kTable =
    "23 28 0:21 / /proc rw,relatime shared:5 - proc proc rw\n"
    "90 28 0:44 / /mnt/a\\040b rw,nosuid,nodev shared:50 master:3 - fuse.dedupfs /srv/v\\134w rw,user_id=0\n"
    "91 28 0:45 / /backup ro - fuse.dedupfs /srv/volume ro,user_id=0\n"
    "a line that is none\n"
    "92 91 0:46 / /backup rw - tmpfs tmpfs rw\n";

std::vector<MountEntry> table_of(std::string_view mountinfo) {
  const TempDir directory;
  const Path file = directory.path() / "mountinfo";
  std::ofstream(file) << mountinfo;
  const auto table = read_mount_table(file.c_str());
  EXPECT_TRUE(table);
  return table ? *table : std::vector<MountEntry>();
}

TEST(MountTable, ReadsTheLinesOfTheKernel) {
  const auto table = table_of(kTable);

  ASSERT_EQ(table.size(), 4u);
  EXPECT_EQ(table[1].device, "0:44");
  EXPECT_EQ(table[1].mountpoint, "/mnt/a b");
  EXPECT_EQ(table[1].source, "/srv/v\\w");
  EXPECT_EQ(table[1].type, "fuse.dedupfs");
  EXPECT_EQ(table[1].mount_options, "rw,nosuid,nodev");
  EXPECT_EQ(table[1].user, 0U);
  EXPECT_FALSE(table[0].user) << "no mount of FUSE";
  EXPECT_FALSE(table[1].is_read_only());
  EXPECT_TRUE(table[2].is_read_only());
}

TEST(MountTable, FindsAVolumeByMountpointAndByPath) {
  const auto table = table_of(kTable);

  ASSERT_TRUE(find_dedupfs_mount(table, "/mnt/a b"));
  EXPECT_EQ(find_dedupfs_mount(table, "/mnt/a b")->device, "0:44");
  EXPECT_EQ(find_dedupfs_mount(table, "/srv/volume")->device, "0:45");
}

TEST(MountTable, FindsNothingBelowAnotherMountNorOfAnotherType) {
  const auto table = table_of(kTable);

  EXPECT_FALSE(find_dedupfs_mount(table, "/backup"));
  EXPECT_FALSE(find_dedupfs_mount(table, "/proc"));
  EXPECT_FALSE(find_dedupfs_mount(table, "/mnt"));
}

TEST(MountTable, FindsTheVolumeOfAFileByItsDevice) {
  const auto table = table_of(kTable);

  ASSERT_TRUE(get_dedupfs_mount(table, makedev(0, 45)));
  EXPECT_EQ(get_dedupfs_mount(table, makedev(0, 45))->source, "/srv/volume");
  EXPECT_FALSE(get_dedupfs_mount(table, makedev(0, 46))) << "another filesystem, mounted on top";
  EXPECT_FALSE(get_dedupfs_mount(table, makedev(1, 45)));
}

TEST(MountTable, BelievesAnOrdinaryUserOnlyThatAVolumeOfHisOwnIsMounted) {
  const TempDir directory;
  const Path volume = std::filesystem::canonical(directory.path());
  const auto mounted_by = [&](unsigned user) {
    return fmt::format("93 28 0:47 / /home/mnt rw - fuse.dedupfs {} rw,user_id={}\n", volume.string(), user);
  };
  const unsigned stranger = ::geteuid() + 12345;
  const auto forged = table_of(mounted_by(stranger));

  EXPECT_FALSE(find_dedupfs_mount(forged, volume));
  const auto by_device = get_dedupfs_mount(forged, makedev(0, 47));
  ASSERT_FALSE(by_device);
  EXPECT_EQ(by_device.error().code(), ErrorCode::kAccessDenied);
  EXPECT_TRUE(find_dedupfs_mount(forged, "/home/mnt")) << "it is a mount all the same";
  const auto both =
      table_of("94 28 0:48 / /mnt rw - fuse.dedupfs " + volume.string() + " rw,user_id=0\n" + mounted_by(stranger));
  ASSERT_TRUE(find_dedupfs_mount(both, volume));
  EXPECT_EQ(find_dedupfs_mount(both, volume)->mountpoint, "/mnt") << "the forged one stands behind it";
  EXPECT_TRUE(find_dedupfs_mount(table_of(mounted_by(::geteuid())), volume));
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(volume.c_str(), stranger, stranger), 0);
  EXPECT_TRUE(find_dedupfs_mount(forged, volume)) << "the volume is his";
}

TEST(MountTable, KnowsAVolumeInABucketByItsAddress) {
  const auto table = table_of(
      "91 28 0:45 / /backup ro - fuse.dedupfs /srv/volume ro,user_id=0\n"
      "92 28 0:46 / /far ro - fuse.dedupfs s3://bucket/prefix ro,user_id=0\n");

  ASSERT_EQ(table.size(), 2u);
  EXPECT_FALSE(table[0].is_in_bucket());
  EXPECT_TRUE(table[1].is_in_bucket());
}

TEST(MountTable, ReadsTheOneOfThisMachine) {
  const auto table = read_mount_table();

  ASSERT_TRUE(table);
  EXPECT_FALSE(table->empty());
  EXPECT_FALSE(read_mount_table("/none/mountinfo"));
}

TEST(FindVolume, FolderOfAVolumeIsAVolumeAndAllOfIt) {
  const TempDir directory;
  const Path volume = std::filesystem::canonical(directory.path());
  std::ofstream(volume / kSuperblockFile) << "{}";
  std::filesystem::create_directory(volume / "containers");

  for (const auto find : {&find_volume, &find_whole_volume}) {
    const auto found = find(volume / "containers" / "..");
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, volume);
    for (const char* other : {"containers", "missing"}) {
      const auto nothing = find(volume / other);
      ASSERT_FALSE(nothing) << other;
      EXPECT_EQ(nothing.error().code(), ErrorCode::kNotFound) << other;
    }
  }
}

// A link to itself stands for a folder that this user may not read: for root there is none.
TEST(FindVolume, WhatCannotBeLookedAtIsNotCalledNoVolume) {
  const TempDir directory;
  std::filesystem::create_symlink(kSuperblockFile, directory.path() / kSuperblockFile);

  const auto found = find_volume(directory.path());

  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message().find("symbolic links"), std::string::npos) << found.error().message();
  EXPECT_EQ(found.error().message().find("is not a dedupfs volume"), std::string::npos);
}

TEST(CanonicalMountpoint, ResolvesLinksAndDots) {
  const TempDir directory;
  const Path real = std::filesystem::canonical(directory.path());
  std::filesystem::create_directory(real / "mnt");
  std::filesystem::create_directory_symlink("mnt", real / "link");

  for (const char* spelling : {"mnt", "mnt/", "./mnt", "mnt/../mnt", "link", "link/", "mnt/."}) {
    const auto path = canonical_mountpoint(real / spelling);
    ASSERT_TRUE(path) << spelling;
    EXPECT_EQ(*path, real / "mnt") << spelling;
  }
  EXPECT_EQ(*canonical_mountpoint("/"), "/");
  EXPECT_FALSE(canonical_mountpoint(real / "missing" / "x"));
}

}  // namespace
}  // namespace dedupfs
