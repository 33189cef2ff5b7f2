// What a daemon has counted since the mount, as JSON: operations, stages of ingest, waits, caches, queues.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/meter.h"

namespace dedupfs {

// The documented object "performance" of dedupfs-stat. It has no names of files or users.
nlohmann::json performance_json(const MeterReadings& readings, MeterClock::duration since_mount);

}  // namespace dedupfs
