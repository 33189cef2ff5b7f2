#include "store/format/superblock_features.h"

#include <algorithm>

#include "store/format/superblock.h"

namespace dedupfs {

Result<void> add_read_only_feature(BackingFolder& volume, std::string_view feature) {
  DEDUPFS_ASSIGN(Superblock superblock, read_superblock(volume));
  if (std::ranges::find(superblock.read_only_features, feature) != superblock.read_only_features.end()) return {};
  superblock.read_only_features.emplace_back(feature);
  return write_superblock(volume, superblock);
}

}  // namespace dedupfs
