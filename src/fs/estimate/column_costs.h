// What each column of a sample costs in the volume that it was copied into.
//
// Threads: free function; nobody may use the volume meanwhile.
// Memory:  about twelve bytes a chunk.
#pragma once

#include <vector>

#include "base/result.h"
#include "fs/estimate/extrapolation.h"
#include "fs/format/types.h"
#include "store/volume/volume.h"

namespace dedupfs {

// Column i has the inodes from borders[i] on, up to borders[i + 1]. So there is one border more than columns.
//
// Of each column: the bytes of its distinct chunks; what they take in containers if no chunk of another column helps; and how much
// of that is saved, since another column has what a delta was made from. Of the last commit.
Result<std::vector<ColumnCost>> column_costs(Volume& volume, const std::vector<InodeNumber>& borders);

}  // namespace dedupfs
