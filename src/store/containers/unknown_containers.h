// Containers that the index knows nothing of: a crash leaves them, or an old index that was put back beside newer containers.
//
// Nothing refers to them, but they stay, and a rebuild of the index reads them like all others. An id that a chunk in them has must
// not be given to another one: a rebuild would take either for the other.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/containers/container_store.h"

namespace dedupfs {

// Ids from this one on are in no container that the index does not know; 0: there is no such container. The index knows no
// container from `first_unknown` on; that in front of it may have grown since. What is damaged there does not count, as in a rebuild.
//
// Failure: what cannot be read.
Result<std::uint64_t> first_id_behind_unknown(const ContainerStore& containers, std::uint32_t first_unknown);

}  // namespace dedupfs
