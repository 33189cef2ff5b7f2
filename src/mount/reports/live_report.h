// What goes on in a mount, from two answers of its daemon: rates, the share of each stage of ingest, and the bottleneck.
//
// Threads: free functions, safe from any thread.
// Failure: a nlohmann::json::exception for answers of another form (read_answer() makes an Error of it).
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace dedupfs {

// The documented object of dedupfs-top. Both are answers to the command "live" of one daemon, and between them is some time: see
// seconds_between(). If the mount is younger than the time between them, it is counted from its start. `cpus` of the machine.
nlohmann::json live_rates(const nlohmann::json& before, const nlohmann::json& after, unsigned cpus);
// 0: both are the same answer.
double seconds_between(const nlohmann::json& before, const nlohmann::json& after);

}  // namespace dedupfs
