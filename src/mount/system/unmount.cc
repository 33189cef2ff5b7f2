#include "mount/system/unmount.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "mount/system/mount_record.h"

namespace dedupfs {

namespace {

int umount_flags(UnmountMode mode) {
  switch (mode) {
    case UnmountMode::kNormal: return 0;
    case UnmountMode::kForce: return MNT_FORCE;
    case UnmountMode::kLazy: return MNT_DETACH;
    case UnmountMode::kAbort: return MNT_DETACH | MNT_FORCE;
  }
  return 0;
}

// Never looked for in PATH: it is a set-user-id program, and PATH is the caller's.
Result<const char*> find_fusermount() {
  for (const char* program : {"/usr/bin/fusermount3", "/bin/fusermount3"}) {
    if (::access(program, X_OK) == 0) return program;
  }
  return Error{ErrorCode::kNotFound, "fusermount3 is missing: install the package fuse3"};
}

Result<void> run_fusermount(std::string mountpoint, UnmountMode mode) {
  DEDUPFS_ASSIGN(const char* program, find_fusermount());
  std::string name = "fusermount3";
  std::string action = mode == UnmountMode::kLazy || mode == UnmountMode::kAbort ? "-uz" : "-u";
  std::string end_of_options = "--";
  std::array<char*, 5> arguments = {name.data(), action.data(), end_of_options.data(), mountpoint.data(), nullptr};
  std::array<char*, 1> environment = {nullptr};
  pid_t child = 0;
  if (const int error = ::posix_spawn(&child, program, nullptr, nullptr, arguments.data(), environment.data())) {
    return Error::from_errno(error, program);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return Error::from_errno(errno, program);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return Error{ErrorCode::kBusy, fmt::format("fusermount3 could not unmount {}", mountpoint)};
}

}  // namespace

Result<void> unmount(const Path& mountpoint, UnmountMode mode) {
  if (::geteuid() != 0) return run_fusermount(mountpoint.string(), mode);
  if (::umount2(mountpoint.c_str(), UMOUNT_NOFOLLOW | umount_flags(mode)) != 0) {
    return Error::from_errno(errno, mountpoint.string());
  }
  // A record that stays does no harm: the next mount there removes it.
  (void)forget_mount(mountpoint);
  return {};
}

}  // namespace dedupfs
