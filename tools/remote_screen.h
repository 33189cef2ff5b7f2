// The lines for people of dedupfs-remote(8).
//
// Threads: a free function, safe from any thread.
// Failure: throws nlohmann::json exceptions for an object that the program did not make.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace dedupfs::tools {

std::string remote_screen(const nlohmann::json& shown);

}  // namespace dedupfs::tools
