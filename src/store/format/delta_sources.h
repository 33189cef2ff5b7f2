// The encoding of the source chunks of a delta, in region directories and in the chunk index. See docs/format.md, "Delta
// sources".
//
// Threads: free functions, safe from any thread.
#pragma once

#include <vector>

#include "base/coding.h"
#include "store/format/types.h"

namespace dedupfs {

// The sources of chunk `id`: one to kMaxDeltaSources other chunks, in the order in which their bytes make the source.
void encode_delta_sources(Encoder& encoder, ChunkId id, const std::vector<ChunkId>& sources);

// Empty where there is nothing valid to read.
std::vector<ChunkId> decode_delta_sources(Decoder& decoder, ChunkId id);

// The one that the chunk resembles: its neighbours lie on both sides of it, unless it was at an end of its stream.
inline ChunkId likely_base(const std::vector<ChunkId>& sources) {
  return sources[sources.size() / 2];
}

}  // namespace dedupfs
