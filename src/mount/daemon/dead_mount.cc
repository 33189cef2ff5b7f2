#include "mount/daemon/dead_mount.h"

#include <fmt/format.h>
#include <sys/statfs.h>

#include <cerrno>
#include <chrono>
#include <optional>

#include "mount/system/in_time.h"
#include "mount/system/mount_table.h"
#include "mount/system/unmount.h"

namespace dedupfs {

namespace {

constexpr std::chrono::milliseconds kPatience{10'000};

// Returns the errno of statfs(2), or ETIMEDOUT without an answer in time. Unlike stat(2), the kernel never answers it from its caches.
int ask(const Path& mountpoint) {
  const auto statfs_says = [&]() -> Result<std::string> {
    struct statfs ignored {};
    return std::to_string(::statfs(mountpoint.c_str(), &ignored) == 0 ? 0 : errno);
  };
  const auto answer =
      ask_in_time("an answer of the filesystem at " + mountpoint.string(), {kPatience, {}}, statfs_says);
  if (!answer) return answer.error().code() == ErrorCode::kInterrupted ? ETIMEDOUT : EIO;
  return std::stoi(*answer);
}

// The topmost mount at this place, of any type.
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
    const int error = ask(mountpoint);
    if (error == ETIMEDOUT) {
      return Error{ErrorCode::kBusy,
                   fmt::format("{} ({}) is already mounted at {} and does not answer; end its daemon first",
                               there->source, there->type, mountpoint.string())};
    }
    if (error != ENOTCONN && error != ECONNABORTED) return detached;
    if (there->type != kMountType || there->source != volume.string() || !is_credible(*there)) {
      return Error{ErrorCode::kBusy,
                   fmt::format("the daemon of {} ({}) has died, but the mount at {} is still there; unmount it first",
                               there->source, there->type, mountpoint.string())};
    }
    DEDUPFS_TRY(unmount(mountpoint, UnmountMode::kLazy));
  }
}

}  // namespace dedupfs
