// The lines for people of dedupfs-remote(8).
//
// Threads: a free function, safe from any thread.
// Failure: throws nlohmann::json exceptions for an object that the program did not make.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "replica/shipper.h"

namespace dedupfs::tools {

std::string remote_screen(const nlohmann::json& shown);

// What a collection did.
nlohmann::json deleted_json(const Shipper::Collected& collected);

}  // namespace dedupfs::tools
