// Repairs container files: headers and torn ends. It never changes a byte of a region. `folder` is VOLUME/containers.
//
// Threads: one at a time; the caller holds the volume's lock for writing.
// Failure: an Error names the file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/backing.h"
#include "base/result.h"
#include "store/check/region_offsets.h"
#include "store/format/superblock.h"

namespace dedupfs {

// Writes the damaged headers of containers that hold regions again. Returns a line for each.
Result<std::vector<std::string>> repair_container_headers(const std::shared_ptr<BackingFolder>& folder,
                                                          const Superblock& superblock);

// Cuts off the rest of an interrupted write behind the last region of containers that are not sealed. `regions`: all regions that
// the index refers to; they must be sound. Returns a line for each container.
Result<std::vector<std::string>> cut_torn_tails(const std::shared_ptr<BackingFolder>& folder,
                                                const Superblock& superblock, const RegionOffsets& regions);

}  // namespace dedupfs
