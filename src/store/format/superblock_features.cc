#include "store/format/superblock_features.h"

#include <algorithm>

#include "store/format/superblock.h"

namespace dedupfs {
namespace {

Result<void> add_feature(BackingFolder& volume, std::vector<std::string> Superblock::*features,
                         std::string_view feature) {
  DEDUPFS_ASSIGN(Superblock superblock, read_superblock(volume));
  std::vector<std::string>& there = superblock.*features;
  if (std::ranges::find(there, feature) != there.end()) return {};
  there.emplace_back(feature);
  return write_superblock(volume, superblock);
}

}  // namespace

Result<void> add_read_only_feature(BackingFolder& volume, std::string_view feature) {
  return add_feature(volume, &Superblock::read_only_features, feature);
}

Result<void> add_incompatible_feature(BackingFolder& volume, std::string_view feature) {
  return add_feature(volume, &Superblock::incompatible_features, feature);
}

}  // namespace dedupfs
