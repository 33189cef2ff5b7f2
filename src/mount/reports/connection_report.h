// What the kernel and libfuse agreed on, as JSON, and as text for people and for the log.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mount/fuse/kernel_connection.h"

namespace dedupfs {

// The documented object "kernel" of dedupfs-stat. Null before the first request of the kernel.
nlohmann::json connection_json(const std::optional<KernelConnection>& connection);

// That object, if it is one, as statements without a full stop.
std::vector<std::string> connection_facts(const nlohmann::json& connection);

}  // namespace dedupfs
