// The source chunks of a delta, and their encoding in region directories and in the chunk index. See docs/format.md, "Delta
// sources".
//
// Threads: free functions, safe from any thread.
#pragma once

#include "base/coding.h"
#include "base/inline_vector.h"
#include "store/format/format.h"
#include "store/format/types.h"

namespace dedupfs {

// Chunks move by the million: their sources take no memory of their own.
using DeltaSources = InlineVector<ChunkId, kMaxDeltaSources>;

// The sources of chunk `id`: one to kMaxDeltaSources other chunks, in the order in which their bytes make the source.
void encode_delta_sources(Encoder& encoder, ChunkId id, const DeltaSources& sources);

// Empty where there is nothing valid to read.
DeltaSources decode_delta_sources(Decoder& decoder, ChunkId id);

// The one that the chunk resembles: its neighbours lie on both sides of it, unless it was at an end of its stream.
inline ChunkId likely_base(const DeltaSources& sources) {
  return sources[sources.size() / 2];
}

}  // namespace dedupfs
