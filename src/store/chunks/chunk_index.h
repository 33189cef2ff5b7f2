// The places of chunks, and a look-up of chunks by fingerprint: the database's `fingerprints` and `chunks`, with the changes
// since the last commit in memory above them. See docs/format.md, "Chunk index".
//
// Chunk ids are handed out in blocks, so the chunks of a region form a few *runs* of consecutive ids. One entry of `chunks`
// describes an extent: it costs the index, and a sequential reader, one look-up a region instead of one a chunk.
//
// Threads:   every function from any thread.
// Failure:   an entry that does not parse is kCorruption and names its key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "index/database.h"
#include "store/format/delta_sources.h"
#include "store/format/region.h"
#include "store/format/types.h"

namespace dedupfs {

// No chunk has the id that this counter of the index names, or a higher one.
inline constexpr std::string_view kNextChunkIdCounter = "next_chunk_id";

// So an extent that has a chunk is looked for below its id no further than this. Writers stay far below: see RegionPacker.
inline constexpr std::uint64_t kMaxChunksPerExtent = 1 << 16;

// Consecutive ids in one region. Some may have been dropped from the region since (reclaim): its directory decides.
struct ChunkExtent {
  struct Chunk {
    std::uint32_t raw_length = 0;
    // For a delta only:
    std::uint32_t delta_length = 0;
    DeltaSources sources;

    bool is_delta() const { return !sources.empty(); }
    std::uint32_t payload_length() const { return is_delta() ? delta_length : raw_length; }

    bool operator==(const Chunk&) const = default;
  };

  ChunkId first{};
  RegionPlace place;
  std::uint32_t region_disk_bytes = 0;     // header, directory and payload as stored
  std::uint32_t region_payload_bytes = 0;  // of the whole region, decompressed
  std::vector<Chunk> chunks;

  RegionRange region() const { return {place, region_disk_bytes}; }
  bool contains(ChunkId id) const {
    return number_of(id) >= number_of(first) && number_of(id) - number_of(first) < chunks.size();
  }
  ChunkId id_of(std::size_t position) const { return ChunkId{number_of(first) + position}; }
  const Chunk& at(ChunkId id) const { return chunks[number_of(id) - number_of(first)]; }  // which it contains
  // The disk that these bytes of the region's payload take: the size of the region is shared out over its payload.
  std::uint64_t disk_bytes_of(std::uint64_t payload_bytes) const {
    return region_payload_bytes == 0 ? 0 : payload_bytes * region_disk_bytes / region_payload_bytes;
  }
  // The chunks at [from, to).
  ChunkExtent part(std::size_t from, std::size_t to) const;

  bool operator==(const ChunkExtent&) const = default;
};

// Adds the chunk to one of the last extents, or begins another if it follows none of them: chunks of a few streams may take turns.
// The place of the region is set later. Returns the position of the extent.
std::size_t append_to_extents(std::vector<ChunkExtent>& extents, const RegionEntry& entry);
// Takes back what append_to_extents() added last, to the extent at this position.
void drop_last(std::vector<ChunkExtent>& extents, std::size_t position);

std::string encode_extent_key(ChunkId first);
std::string encode_extent(const ChunkExtent& extent);
Result<ChunkExtent> decode_extent(std::string_view key, std::string_view value);

// Values of `fingerprints`.
std::string encode_chunk_id(ChunkId id);
Result<ChunkId> decode_chunk_id(std::string_view value);

// The extent of the index that has the chunk, if any.
Result<std::optional<ChunkExtent>> find_extent(const Database& database, ChunkId id);
// The same without its chunks, at a fraction of the cost: what stands behind their number is not looked at.
struct ExtentFront {
  ChunkId first{};
  std::uint64_t count = 0;  // of its chunks
  RegionPlace place;

  bool contains(ChunkId id) const {
    return number_of(id) >= number_of(first) && number_of(id) - number_of(first) < count;
  }
};
Result<std::optional<ExtentFront>> find_extent_front(const Database& database, ChunkId id);
Result<bool> has_chunk(const Database& database, ChunkId id);
// Visits all extents of a snapshot in order of ids, until it is given an Error.
Result<void> walk_extents(const Database& database, const Database::Snapshot& snapshot,
                          const std::function<Result<void>(const ChunkExtent&)>& visit);

}  // namespace dedupfs
