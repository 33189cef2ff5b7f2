#include "fs/dead_mount.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>

#include "base/unique_fd.h"
#include "fs/mount_table.h"
#include "fs/unmount.h"

namespace dedupfs {

namespace {

constexpr int kPatienceMilliseconds = 10'000;

// What statfs(2) says, an errno; ETIMEDOUT when it says nothing in time. Unlike stat(2), the kernel never answers it from its caches.
// A child asks, since a daemon that is stopped makes whoever asks wait.
Result<int> ask(const Path& mountpoint) {
  const pid_t child = ::fork();
  if (child < 0) return Error::from_errno(errno, "fork");
  if (child == 0) {
    struct statfs ignored {};
    ::_exit(::statfs(mountpoint.c_str(), &ignored) == 0 ? 0 : errno);
  }
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  pollfd polled{process.get(), POLLIN, 0};
  const bool answered = !process || ::poll(&polled, 1, kPatienceMilliseconds) > 0;
  if (!answered) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (!answered) return ETIMEDOUT;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

// The topmost mount at this place, of whatever type.
Result<std::optional<MountEntry>> mount_at(const Path& mountpoint) {
  DEDUPFS_ASSIGN(const auto table, read_mount_table());
  std::optional<MountEntry> topmost;
  for (const MountEntry& entry : table)
    if (entry.mountpoint == mountpoint) topmost = entry;
  return topmost;
}

}  // namespace

Result<int> detach_dead_mounts(const Path& volume, const Path& mountpoint) {
  for (int detached = 0;; ++detached) {
    DEDUPFS_ASSIGN(const std::optional<MountEntry> there, mount_at(mountpoint));
    if (!there) return detached;
    DEDUPFS_ASSIGN(const int error, ask(mountpoint));
    if (error == ETIMEDOUT) {
      return Error{ErrorCode::kBusy,
                   fmt::format("{} ({}) is mounted at {} already, and does not answer; end its daemon first",
                               there->source, there->type, mountpoint.string())};
    }
    if (error != ENOTCONN) return detached;
    if (there->type != kMountType || there->source != volume.string()) {
      return Error{ErrorCode::kBusy, fmt::format("a dead mount of {} ({}) is at {}; unmount it first", there->source,
                                                 there->type, mountpoint.string())};
    }
    DEDUPFS_TRY(unmount(mountpoint, UnmountMode::kLazy));
  }
}

}  // namespace dedupfs
