// From a chunk's id to its bytes: where it lies, the region that holds it, and, where it is a delta, the chunks that it
// was encoded against.
//
// Threads: every function from any thread.
// Failure: kCorruption names the chunk, and where it is a delta, each chunk on the way to the one that cannot be had, which
//          is noted in damaged(). Wrong bytes are never given: regions have checksums, and so has what a delta makes.
// Cost:    a delta of depth d needs at most kMaxDeltaSources^d chunks, far fewer in fact, because neighbours share their
//          sources; more than kMaxChunksPerRead of them are refused, so that a hostile volume cannot make a read endless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "index/database.h"
#include "store/chunks/chunk_cache.h"
#include "store/chunks/damaged_chunks.h"
#include "store/chunks/extent_cache.h"
#include "store/chunks/pending_chunks.h"
#include "store/chunks/pinned_bytes.h"
#include "store/containers/container_store.h"
#include "store/containers/region_cache.h"
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
    std::uint8_t depth = 0;        // of deltas
    std::vector<ChunkId> sources;  // of a delta
  };
  // Of a chunk in damaged(), its bytes are compared with its fingerprint: a check may have found that they are others.
  Result<Chunk> get(ChunkId id);
  // A chunk as it is stored.
  struct Stored {
    RegionEntry entry;
    PinnedBytes payload;
  };
  Result<Stored> get_stored(ChunkId id);
  // Whether there are bytes, be they the right ones or not.
  bool can_be_made(ChunkId id);

  // Whether it is in the index, or is to come there with a commit. What was erased may be found still, until forget_places().
  bool has(ChunkId id) const;
  // Whether there is nothing to gain by getting it ahead of time. Where it may be a delta, there is.
  bool is_cached(ChunkId id);

  // After chunks were erased. After chunks moved, too: what is at the old places would do as long as it is there, but may be
  // deeper.
  void forget_places() { extents_.clear(); }

  RegionCache& regions() { return regions_; }
  DamagedChunks& damaged() { return damaged_; }

 private:
  // Where it is now, whatever was cached.
  Result<Stored> get_stored_now(ChunkId id);
  Result<Stored> read_stored(ChunkId id, RegionRange range);
  void note_damage(ChunkId id, const Error& error);
  Result<ExtentCache::Found> locate(ChunkId id);
  // Less deep than `depth_limit`: checked before anything is made, so that no circle is ever entered.
  Result<Chunk> get(ChunkId id, std::uint8_t depth_limit, std::size_t& chunks_left);
  Result<Chunk> make(const Stored& stored, std::uint8_t depth_limit, std::size_t& chunks_left);
  Result<PinnedBytes> decode(const Stored& delta, std::size_t& chunks_left);

  const Database& database_;
  const PendingChunks& pending_;
  ExtentCache extents_;
  RegionCache regions_;
  ChunkCache decoded_;
  DamagedChunks damaged_;
};

}  // namespace dedupfs
