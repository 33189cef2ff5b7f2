// A new chunk as a delta, between the encoder that made it and the packer that stores it.
//
// Threads: a value.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "store/format/delta_sources.h"
#include "store/format/types.h"

namespace dedupfs {

// A chunk as it is stored where it resembles others.
struct EncodedDelta {
  ByteBuffer bytes;
  DeltaSources sources;
  std::uint8_t depth = 0;
  std::uint32_t checksum = 0;
  ChunkId base{};  // that the chunk resembles; among the sources, unless it is too deep to be one
};

}  // namespace dedupfs
