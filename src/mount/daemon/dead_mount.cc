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

// The topmost mount at this place, of any type.
Result<std::optional<MountEntry>> mount_at(const Path& mountpoint) {
  DEDUPFS_ASSIGN(const auto table, read_mount_table());
  std::optional<MountEntry> topmost;
  for (const MountEntry& entry : table)
    if (entry.mountpoint == mountpoint) topmost = entry;
  return topmost;
}

}  // namespace

// By statfs(2): unlike stat(2), the kernel never answers it from its caches.
Result<bool> is_dead_mount(const Path& mountpoint, const Patience& patience) {
  const auto statfs_says = [&]() -> Result<std::string> {
    struct statfs ignored {};
    const bool is_dead = ::statfs(mountpoint.c_str(), &ignored) != 0 && (errno == ENOTCONN || errno == ECONNABORTED);
    return std::string(is_dead ? "dead" : "");
  };
  DEDUPFS_ASSIGN(const std::string answer,
                 ask_in_time("an answer of the filesystem at " + mountpoint.string(), patience, statfs_says));
  return !answer.empty();
}

Result<int> detach_dead_mounts(const Path& volume, const Path& mountpoint) {
  for (int detached = 0;; ++detached) {
    DEDUPFS_ASSIGN(const std::optional<MountEntry> there, mount_at(mountpoint));
    if (!there) return detached;
    const auto dead = is_dead_mount(mountpoint, {kPatience, {}});
    if (!dead && dead.error().code() == ErrorCode::kInterrupted) {
      return Error{ErrorCode::kBusy,
                   fmt::format("{} ({}) is already mounted at {} and does not answer; end its daemon first",
                               there->source, there->type, mountpoint.string())};
    }
    if (!dead || !*dead) return detached;
    if (there->type != kMountType || there->source != volume.string() || !is_credible(*there)) {
      return Error{ErrorCode::kBusy,
                   fmt::format("the daemon of {} ({}) has died, but the mount at {} is still there; unmount it first",
                               there->source, there->type, mountpoint.string())};
    }
    DEDUPFS_TRY(unmount(mountpoint, UnmountMode::kLazy));
  }
}

}  // namespace dedupfs
