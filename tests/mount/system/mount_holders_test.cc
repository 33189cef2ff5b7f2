#include "mount/system/mount_holders.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace dedupfs {
namespace {

void add_process(const Path& proc, const std::string& number, const std::string& name, const std::string& device,
                 const std::string& type_and_source = "fuse.dedupfs /srv/v") {
  std::filesystem::create_directories(proc / number);
  std::ofstream(proc / number / "comm") << name << '\n';
  std::ofstream(proc / number / "mountinfo") << "23 28 0:21 / /proc rw - proc proc rw\n90 28 " << device
                                             << " / /mnt rw - " << type_and_source << " rw,user_id=0\n";
}

MountEntry mount_with(const std::string& device) {
  return {.device = device, .mountpoint = "/mnt", .type = "fuse.dedupfs", .source = "/srv/v"};
}

TEST(MountHolders, AreTheProcessesInWhoseNamespaceTheMountIs) {
  const TempDir proc;
  add_process(proc.path(), "12", "sleep", "0:44");
  add_process(proc.path(), "7", "bash", "0:44");
  add_process(proc.path(), "8", "other", "0:45");
  add_process(proc.path(), "self", "me", "0:44");
  std::filesystem::create_directory(proc.path() / "9");  // ended meanwhile

  const auto holders = find_mount_holders(mount_with("0:44"), proc.path());

  ASSERT_EQ(holders.size(), 2U);
  EXPECT_EQ(describe(holders), "process 7 (bash) at /mnt, process 12 (sleep) at /mnt");
  EXPECT_EQ(describe(find_mount_holders(mount_with("0:46"), proc.path())), "");
}

// The kernel gives the number of a device away again as soon as the mount is gone.
TEST(MountHolders, AnotherFilesystemWithTheNumberIsNotTheMount) {
  const TempDir proc;
  add_process(proc.path(), "7", "bash", "0:44", "tmpfs tmpfs");
  add_process(proc.path(), "8", "bash", "0:44", "fuse.dedupfs /srv/other");
  add_process(proc.path(), "9", "bash", "0:44", "fuse.sshfs /srv/v");
  EXPECT_TRUE(find_mount_holders(mount_with("0:44"), proc.path()).empty());
}

TEST(MountHolders, ManyAreCountedAndTheirNamesCannotControlATerminal) {
  std::vector<MountHolder> holders;
  for (int process = 1; process <= 9; ++process) holders.push_back({process, "a\x1b[2J", "/mnt"});

  const std::string text = describe(holders);

  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_TRUE(text.ends_with("and 4 more")) << text;
}

}  // namespace
}  // namespace dedupfs
