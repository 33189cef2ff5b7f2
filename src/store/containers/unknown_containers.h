// Containers that the index knows nothing of: a crash leaves them, or an old index that was put back beside newer containers.
//
// Nothing refers to them, but they stay, and a rebuild of the index reads them like all others. An id that a chunk in them has must
// not be given to another one: a rebuild would take either for the other.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/containers/container_store.h"

namespace dedupfs {

// Containers that the index does not know have only ids below this one; 0: there are no such containers. The index knows no
// container from `first_unknown` on. The container before it may have grown since. Damaged parts there do not count, as in a
// rebuild.
//
// Failure: a container that cannot be read.
Result<std::uint64_t> first_id_behind_unknown(const ContainerStore& containers, std::uint32_t first_unknown);

}  // namespace dedupfs
