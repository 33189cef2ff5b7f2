// Walks a container past damage: what check and repair see of it.
//
// A region whose header is intact is stepped over, whatever became of the rest of it. Behind a damaged header the next region
// is searched for. What looks like one may be a part of somebody's file (a stored container, say). So where the places of
// regions are known, only those count; elsewhere an unbroken chain of regions must lead from the place to the end of this
// very container.
//
// Threads: free function; the container must not change.
// Failure: an Error means that the container could not be read at all. What is wrong with its content is in the result.
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

// Visits each region but gaps, in order. `known_offsets`, ascending: where regions start for certain. An Error of `visit`
// ends the scan.
Result<ContainerScan> scan_container(ContainerBackend& backend, std::uint32_t number,
                                     const std::vector<std::uint32_t>& known_offsets, const RegionVisit& visit);

}  // namespace dedupfs
