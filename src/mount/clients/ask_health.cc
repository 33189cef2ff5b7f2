#include "mount/clients/ask_health.h"

#include <chrono>
#include <utility>

#include "mount/clients/ask_publicly.h"
#include "mount/daemon/dead_mount.h"

namespace dedupfs {

Result<std::optional<nlohmann::json>> ask_health(const MountEntry& mount) {
  const Patience patience{std::chrono::seconds(10), [](const std::string&) {}};
  DEDUPFS_ASSIGN(const bool dead, is_dead_mount(mount.mountpoint, patience));
  if (dead) return std::optional<nlohmann::json>();
  DEDUPFS_ASSIGN(PublicAnswer answer, ask_publicly(mount.mountpoint, "dedupfs.health", patience));
  if (answer.mount.device != mount.device)
    return Error{ErrorCode::kBusy, mount.mountpoint.string() + ": another mount came on top of it, and answered"};
  return std::optional(std::move(answer.json));
}

}  // namespace dedupfs
