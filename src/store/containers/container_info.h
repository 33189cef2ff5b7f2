// Findings about one container file: its length and header, and the regions that a walk through it meets.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "store/format/region.h"
#include "store/format/types.h"

namespace dedupfs {

struct ContainerInfo {
  std::uint32_t id = 0;
  std::uint64_t bytes = 0;  // length of the file
  bool sealed = false;
  ContainerTier tier = ContainerTier::kSettled;
  // The damage of its header, naming the file. After a crash, a new container may have no header, and nothing in it that anything
  // refers to. Regions behind a damaged header are still read.
  std::optional<Error> damage;
  bool is_file = true;  // or a folder, a link, ... that somebody has put there
};

// A region that a walk met. Only its header was read.
struct WalkedRegion {
  RegionPlace place;
  RegionHeader header;
};

// The regions of a container, front to back.
struct ContainerWalk {
  std::vector<WalkedRegion> regions;
  std::optional<Error> stopped_by;  // why it ended before the trailer or the end of the file
  std::uint64_t end_offset = 0;
  bool sealed = false;
};

}  // namespace dedupfs
