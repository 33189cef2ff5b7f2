// Features that are added to the superblock of a volume that is in use.
//
// Threads: one at a time for a volume.
// Failure: as read_superblock() and write_superblock(). A crash leaves the feature in both copies, in one or in none.
#pragma once

#include <string_view>

#include "base/backing.h"
#include "base/result.h"
#include "store/format/features.h"

namespace dedupfs {

// Adds a read-only feature (Superblock::read_only_features) to both copies, if it is not there. It is durable when this returns.
Result<void> add_read_only_feature(BackingFolder& volume, std::string_view feature);
// The same for an incompatible feature (Superblock::incompatible_features).
Result<void> add_incompatible_feature(BackingFolder& volume, std::string_view feature);

}  // namespace dedupfs
