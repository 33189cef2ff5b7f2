#include "fs/namespace/tree_space.h"

#include <algorithm>
#include <utility>

namespace dedupfs {
namespace {

// An inode takes only space: about a block for metadata and the smallest content.
constexpr std::uint64_t kBytesOfAnInode = 4096;

std::uint64_t left_of(std::uint64_t limit, std::uint64_t used) {
  return limit - std::min(limit, used);
}

}  // namespace

TreeSpace space_without_quota(const SpaceReport& volume) {
  return {.total_bytes = volume.total_bytes,
          .free_bytes = volume.available_bytes,
          .available_bytes = volume.available_bytes,
          .inodes = volume.inodes,
          .free_inodes = volume.available_bytes / kBytesOfAnInode};
}

TreeSpace space_in_quota(const SpaceReport& volume, const QuotaStatus& quota) {
  TreeSpace space = space_without_quota(volume);
  space.inodes = quota.files;
  const std::uint64_t stored_bytes = quota.stored_bytes + quota.unmeasured_bytes;
  bool has_limit = false;
  for (const auto& [limit, used] : {std::pair(quota.limits.logical_bytes, quota.logical_bytes),
                                    std::pair(quota.limits.stored_bytes, stored_bytes)}) {
    if (!limit || (has_limit && left_of(*limit, used) >= space.free_bytes)) continue;
    has_limit = true;
    space.total_bytes = *limit;
    space.free_bytes = left_of(*limit, used);
    space.available_bytes = std::min(space.free_bytes, volume.available_bytes);
  }
  if (const auto& limit = quota.limits.files) space.free_inodes = left_of(*limit, quota.files);
  return space;
}

}  // namespace dedupfs
