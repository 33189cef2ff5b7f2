// What the bucket of a mounted volume has, and lacks, as JSON, and as a line for people that is made from that JSON.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "replica/background/background_shipper.h"

namespace dedupfs {

// The documented object "remote" of dedupfs-stat. Null without a shipper, but for a copy of what a bucket has.
nlohmann::json replication_json(const BackgroundShipper* shipper, const Volume& volume);
nlohmann::json replication_json(const BackgroundShipper::Status& status,
                                std::chrono::system_clock::time_point now = std::chrono::system_clock::now());

std::string replication_screen(const nlohmann::json& json);

}  // namespace dedupfs
