// Mount options without a value, and those among them that only mount(8) is concerned with.
//
// Threads: free function, safe from any thread.
#pragma once

#include <string_view>

#include "mount/options/mount_option_values.h"

namespace dedupfs {

using MountFlag = void (*)(MountOptions&);

// What the flag does. Null: there is no such flag.
MountFlag find_mount_flag(std::string_view name);

}  // namespace dedupfs
