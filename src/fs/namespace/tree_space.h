// What statfs(2) shows: the space of a tree with a quota, or of the volume.
//
// As XFS and ext4 with project quotas: total and free follow from the limit. Of two limits, it is the one with less left. Available is
// never more than the disk has.
//
// Threads: free functions.
#pragma once

#include "fs/inodes/quota_account.h"
#include "fs/namespace/filesystem_types.h"

namespace dedupfs {

TreeSpace space_without_quota(const SpaceReport& volume);
TreeSpace space_in_quota(const SpaceReport& volume, const QuotaStatus& quota);

}  // namespace dedupfs
