// Lets the writers of a mount wait while the bucket of its volume lacks too much of it, as BackgroundShipper counts that and DataLimit
// lets wait.
//
// Threads:   a free function, before the first request.
// Ownership: refers to the shipper, as long as requests are served.
#pragma once

#include <chrono>
#include <cstddef>

#include "fs/namespace/filesystem.h"
#include "replica/background/background_shipper.h"

namespace dedupfs {

// `most_waiting`: writers at a time. `longest_wait`: while nothing is shipped.
void limit_unshipped(Filesystem& filesystem, BackgroundShipper& shipper, std::size_t most_waiting,
                     std::chrono::milliseconds longest_wait);

}  // namespace dedupfs
