// Chooses the chunks that shall be stored once more, together for the stream that refers to them now. For these chunks a reader
// must read and decode regions that give it little else before they leave the cache again.
//
// (Lillibridge, Eshghi, Bhagwat: Improving restore speed for backup systems that use inline chunk-based deduplication, FAST '13,
// cap the number of containers for a segment of a stream. Fu et al.: Accelerating restore and garbage collection in
// deduplication-based backup systems via exploiting historical information, ATC '14, rewrite chunks in containers that a stream
// uses little of. Here the unit that is read whole is the region. The cost for a reader is counted by a simulated read.)
//
// Threads: a pure function.
// Memory:  about 100 bytes for each time that a region is read.
#pragma once

#include <cstdint>
#include <vector>

#include "store/format/types.h"

namespace dedupfs {

// A chunk that a reader needs: the stream refers to it, or a delta is made from it.
struct NeededChunk {
  ChunkId id{};
  RegionPlace place;
  std::uint32_t region_payload_bytes = 0;
  std::uint32_t raw_bytes = 0;
  bool is_delta = false;
};

// A stream as a reader goes through it. Numbers are positions in `chunks`.
struct NeededOrder {
  struct Read {
    std::uint32_t chunk = 0;
    std::uint32_t wanted_for = 0;  // the stream's own reference: the same chunk, or a delta that is made from it
  };
  std::vector<NeededChunk> chunks;  // each once, in order of first need
  std::vector<Read> reads;
};

struct DefragmentationLimits {
  std::uint64_t moved_bytes = 0;  // of chunks that move as they are: their former copies are garbage, no more
  std::uint64_t grown_bytes = 0;  // of chunks that are deltas no more: these take room for good
  std::uint64_t cache_bytes = 0;  // of a reader, for regions
  // Chunks in this container or a newer one do not move: they were stored there not long ago.
  std::uint32_t end_container = 0;
};

// For each amount of this size that is stored again, a reader must save a region.
inline constexpr double kMaxBytesPerRead = 64 << 10;

// Positions in `needed.chunks`, ascending. Chosen deltas shall be stored whole: their sources are what is far away.
std::vector<std::uint32_t> plan_defragmentation(const NeededOrder& needed, const DefragmentationLimits& limits);

}  // namespace dedupfs
