// Compares what a mounted volume says of its health with what it said last time.
//
// What lasts (damage, a failed volume, a full disk, a dead daemon) is an event when it is seen first, also by the first look. What ends
// (a scrub, a reclaim) is one only if an earlier look saw the mount.
//
// Threads: free functions, safe beside everything.
// Failure: none. Both objects come from outside: a value that is missing or of another type counts as 0, false or empty.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mount/events/event.h"

namespace dedupfs {

struct WatchedMount {
  std::string volume;
  std::string mountpoint;
  std::optional<nlohmann::json> health;  // the answer to dedupfs.health; nothing: the daemon has died
};

// `seen` is what the last look left, and becomes what the next one needs; null at first. A disk is nearly full if less than
// `percent` of it is available.
std::vector<Event> look_for_events(const WatchedMount& mount, double percent, nlohmann::json& seen);

}  // namespace dedupfs
