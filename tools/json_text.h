// JSON as tools print it. Names and paths need not be UTF-8: what is not is replaced.
//
// Threads: free function, safe from any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace dedupfs::tools {

// With a line feed behind it; all on one line if `indent` is -1.
inline std::string text_of_json(const nlohmann::json& json, int indent = 2) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace dedupfs::tools
