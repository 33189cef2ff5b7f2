// Mounts that nobody else sees, for a part of a test: in a process and a mount namespace of its own.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "mount/system/mount_table.h"
#include "support/child_process.h"
#include "support/sanitized.h"

namespace dedupfs {

// Ends a body that could not mount: the test is skipped where that is not allowed, and fails for any other reason.
[[noreturn]] inline void end_without_mount() {
  const int reason = errno;
  if (reason == EPERM || reason == EACCES) ::_exit(kNotAllowedHere);
  std::fprintf(stderr, "cannot mount: %s\n", std::strerror(reason));
  ::_exit(1);
}

// As root, or as root of a user namespace. The test is skipped where neither is allowed.
inline void in_private_mounts(const std::function<void()>& body) {
  if (kThreadSanitized) GTEST_SKIP() << "the body may start threads in a process that was forked";
  in_child_process([&] {
    const uid_t user = ::geteuid();
    if (::unshare(CLONE_NEWNS) != 0) {
      if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ::_exit(kNotAllowedHere);
      std::ofstream("/proc/self/setgroups") << "deny";
      std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
    }
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) end_without_mount();
    body();
  });
}

// A volume's mount whose daemon is this process, and answers nothing.
class SilentMount {
 public:
  SilentMount(const Path& volume, const Path& mountpoint, const char* type = "fuse.dedupfs")
      : device_(::open("/dev/fuse", O_RDWR | O_CLOEXEC)) {
    if (!device_) ::_exit(kNotAllowedHere);
    const std::string options =
        fmt::format("fd={},rootmode=40000,user_id={},group_id={}", device_.get(), ::geteuid(), ::getegid());
    if (::mount(volume.c_str(), mountpoint.c_str(), type, MS_NOSUID | MS_NODEV, options.c_str()) != 0)
      end_without_mount();
  }

  // Every access fails from now on.
  void die() { device_.reset(); }

 private:
  UniqueFd device_;
};

inline void mount_tmpfs(const Path& mountpoint, unsigned long flags = 0) {
  if (::mount("none", mountpoint.c_str(), "tmpfs", flags, nullptr) != 0) end_without_mount();
}

inline std::vector<MountEntry> mounts_at(const Path& mountpoint) {
  auto table = read_mount_table();
  EXPECT_TRUE(table);
  std::erase_if(*table, [&](const MountEntry& entry) { return entry.mountpoint != mountpoint; });
  return *table;
}

}  // namespace dedupfs
