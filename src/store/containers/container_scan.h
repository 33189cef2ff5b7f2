// Walks a container past damage, for check and repair.
//
// A region whose header is intact is passed over, even if the rest of it is damaged. Behind a damaged header the scan searches
// for the next region. Bytes that look like a region may be part of a user's file, such as a stored container. So if the offsets
// of regions are known, only those count. Otherwise an unbroken chain of regions must lead from the place to the end of this
// container.
//
// Threads: free function; the container must not change.
// Failure: an Error means that the container could not be read at all. Damage of its content is in the result.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/containers/container_backend.h"
#include "store/format/region.h"
#include "store/format/types.h"

namespace dedupfs {

struct ContainerScan {
  // A range that is neither region nor trailer.
  struct Damage {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    std::string reason;
  };

  std::vector<Damage> damage;    // in order of offset
  std::uint64_t end_offset = 0;  // of the last region, or of the trailer
  std::uint64_t bytes = 0;       // length of the file
  bool sealed = false;           // it ends in its trailer

  // Whether it ends in an interrupted write, as a crash leaves it: from end_offset on. Only where the places of all regions
  // that anything refers to were known is it certain that none of them lies there.
  bool has_torn_tail() const { return !sealed && !damage.empty() && damage.back().offset == end_offset; }
};

using RegionVisit = std::function<Result<void>(RegionPlace place, const RegionHeader& header)>;

// Visits each region except gaps, in order. `known_offsets`: certain starts of regions, ascending. An Error of `visit` ends the
// scan.
Result<ContainerScan> scan_container(ContainerBackend& backend, std::uint32_t number,
                                     const std::vector<std::uint32_t>& known_offsets, const RegionVisit& visit);

}  // namespace dedupfs
