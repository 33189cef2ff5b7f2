// The difference of two trees as JSON and as lines for people.
//
// Threads: free functions, safe from any thread.
// Failure: diff_screen() throws nlohmann::json exceptions for what changes_json() did not make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "fs/snapshots/tree_diff.h"

namespace dedupfs {

// The documented objects of the changes from number `first` on, as many as an answer at the control socket may hold. Paths that are
// not UTF-8 have their bytes in "path_hex", too: write it with the error handler "replace".
nlohmann::json changes_json(const TreeDiff& diff, std::size_t first = 0, std::size_t most_bytes = 8 << 20);
// The snapshots that are compared: "from", and "to", which is null for the present.
nlohmann::json compared_json(const TreeDiff& diff);

// A line for each change. Odd bytes of paths are escaped.
std::string diff_screen(const nlohmann::json& changes);

}  // namespace dedupfs
