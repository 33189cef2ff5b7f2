// The stored chunk whose place in a file a new chunk takes: an overwrite changes a part of it, so it is the likeliest base of a
// delta.
#pragma once

#include <cstdint>

#include "store/format/types.h"

namespace dedupfs {

struct ReplacedChunk {
  ChunkId id{};              // 0, which no chunk has: none is known
  std::uint32_t offset = 0;  // in it, of the place where the new chunk begins

  bool is_known() const { return id != ChunkId{}; }
};

}  // namespace dedupfs
