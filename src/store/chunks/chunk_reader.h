// From a chunk's id to its bytes: its place, its region, and for a delta the chunks that it was made from.
//
// Threads: every function from any thread.
// Failure: kCorruption names the chunk. For a delta it names each chunk on the way to the one that cannot be read, which is noted
//          in damaged(). Wrong bytes are never given: regions have checksums, and so have decoded deltas.
// Cost:    a delta of depth d needs at most kMaxDeltaSources^d chunks; far fewer in fact, because neighbours share their sources.
//          More than kMaxChunksPerRead are refused, so that a hostile volume cannot make a read endless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/meter.h"
#include "base/result.h"
#include "index/database.h"
#include "store/chunks/chunk_cache.h"
#include "store/chunks/damaged_chunks.h"
#include "store/chunks/extent_cache.h"
#include "store/chunks/pending_chunks.h"
#include "store/chunks/pinned_bytes.h"
#include "store/containers/container_store.h"
#include "store/containers/region_cache.h"
#include "store/format/delta_sources.h"
#include "store/format/types.h"

namespace dedupfs {

class ChunkReader {
 public:
  static constexpr std::size_t kMaxChunksPerRead = 1 << 16;

  // `cache_bytes` for regions and decoded deltas together.
  ChunkReader(const ContainerStore& containers, const Database& database, const PendingChunks& pending,
              std::size_t cache_bytes);

  struct Chunk {
    PinnedBytes bytes;
    std::uint8_t depth = 0;  // of deltas
    DeltaSources sources;    // of a delta
  };
  // For a chunk in damaged(), compares the bytes with the fingerprint: a check may have found that they differ.
  Result<Chunk> get(ChunkId id);
  // A chunk as it is stored.
  struct Stored {
    RegionEntry entry;
    PinnedBytes payload;
  };
  Result<Stored> get_stored(ChunkId id);
  // Whether there are bytes, be they the right ones or not.
  bool can_be_made(ChunkId id);

  // Whether the chunk is in the index, or comes there with a commit. An erased chunk may still be found, until forget_places().
  bool has(ChunkId id) const;
  // Whether read-ahead gains nothing for this chunk. It gains something if the chunk may be a delta.
  bool is_cached(ChunkId id);

  // Whether get() reads nothing that lies elsewhere than on this machine, or next to nothing. A hint.
  bool is_near(ChunkId id);

  // For use after chunks were erased, or moved. The old places are valid as long as they exist, but the deltas there may be deeper.
  void forget_places() { extents_.clear(); }

  RegionCache& regions() { return regions_; }
  DamagedChunks& damaged() { return damaged_; }

  // Of its three caches.
  std::vector<Named<CacheMeter::Reading>> cache_readings() const {
    return {{"regions", regions_.meter_reading()},
            {"decoded_chunks", decoded_meter_.read()},
            {"extents", extent_meter_.read()}};
  }

 private:
  // The present place of the chunk, without the caches.
  Result<Stored> get_stored_now(ChunkId id);
  Result<Stored> read_stored(ChunkId id, RegionRange range);
  bool is_near(ChunkId id, std::size_t& chunks_left);
  void note_damage(ChunkId id, const Error& error);
  Result<ExtentCache::Found> locate(ChunkId id);
  // Less deep than `depth_limit`: checked before anything is made, so that no circle is ever entered.
  Result<Chunk> get(ChunkId id, std::uint8_t depth_limit, std::size_t& chunks_left);
  Result<Chunk> make(const Stored& stored, std::uint8_t depth_limit, std::size_t& chunks_left);
  Result<PinnedBytes> decode(const Stored& delta, std::size_t& chunks_left);

  const ContainerStore& containers_;
  const Database& database_;
  const PendingChunks& pending_;
  ExtentCache extents_;
  CacheMeter extent_meter_;
  RegionCache regions_;
  ChunkCache decoded_;
  CacheMeter decoded_meter_;
  DamagedChunks damaged_;
};

}  // namespace dedupfs
