// Asks a mount for its health, as everybody may.
//
// Threads: the caller must have no other threads: it forks.
// Failure: kInterrupted without an answer in ten seconds; kUnsupported for a daemon that is older; kBusy if another
//          mount at this place answered.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "base/result.h"
#include "mount/system/mount_table.h"

namespace dedupfs {

// The answer to dedupfs.health, an object. Nothing: the daemon of the mount has died.
Result<std::optional<nlohmann::json>> ask_health(const MountEntry& mount);

}  // namespace dedupfs
