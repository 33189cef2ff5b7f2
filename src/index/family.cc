#include "index/family.h"

namespace dedupfs {

std::string_view name_of(Family family) {
  switch (family) {
    case Family::kFingerprints: return "fingerprints";
    case Family::kChunks: return "chunks";
    case Family::kFeatureIndex: return "features";
    case Family::kInodes: return "inodes";
    case Family::kDirents: return "dirents";
    case Family::kCookies: return "cookies";
    case Family::kXattrs: return "xattrs";
    case Family::kRecipes: return "recipes";
    case Family::kOrphans: return "orphans";
    case Family::kCounters: return "counters";
    case Family::kSnapshots: return "snapshots";
    case Family::kBeforeImages: return "before_images";
  }
  return "unknown";
}

}  // namespace dedupfs
