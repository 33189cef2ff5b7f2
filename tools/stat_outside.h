// What dedupfs-stat shows of an encrypted volume without its key: what anyone sees who has its folder.
//
// Threads: one.
#pragma once

#include <optional>

#include "base/backing.h"
#include "console.h"

namespace dedupfs::tools {

// The exit code. Nothing, and nothing is shown, if there is no such volume, or the caller may not look at it.
std::optional<int> show_from_outside(const Path& path, bool foreign, const Console& console);

}  // namespace dedupfs::tools
