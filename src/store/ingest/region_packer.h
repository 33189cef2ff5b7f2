// Packs the new chunks of one stream into regions and hands out their ids.
//
// Threads: one user at a time.
// Failure: a function that throws (std::bad_alloc) has packed nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "store/chunks/pending_chunks.h"
#include "store/format/types.h"
#include "store/ingest/encoded_delta.h"

namespace dedupfs {

// Blocks of consecutive chunk ids: so small that few are lost when a volume is closed, so large that the chunks of a
// region form few extents.
class ChunkIdAllocator {
 public:
  static constexpr std::uint64_t kBlockIds = 64;

  explicit ChunkIdAllocator(std::uint64_t next) : next_(next) {}
  std::uint64_t take_block() { return next_.fetch_add(kBlockIds); }
  std::uint64_t next() const { return next_.load(); }

 private:
  std::atomic<std::uint64_t> next_;
};

class RegionPacker {
 public:
  // Takes a region that is full or was closed, to write it. Must not throw.
  using Closed = std::function<void(std::shared_ptr<PendingRegion>)>;

  RegionPacker(PendingChunks& pending, ChunkIdAllocator& ids, std::uint32_t region_bytes, Closed closed);

  // Copies the chunk, or its delta if it has one, into the open region and makes it known, unless another stream was
  // faster: then that one's id.
  struct Packed {
    ChunkId id{};
    bool is_new = false;
  };
  Packed add(const Fingerprint& fingerprint, ByteSpan chunk, const std::optional<EncodedDelta>& delta = {});
  // The same for a chunk that has an id, and whose bytes were lost. It is no delta: its own dependents could be its sources.
  Packed add_again(ChunkId id, const Fingerprint& fingerprint, ByteSpan chunk);
  // A chunk as it is stored elsewhere, delta or not. False: somebody else is moving it.
  bool add_moved(const RegionEntry& entry, ByteSpan payload);
  // Ends the open region, if it holds anything.
  void close();

 private:
  // Makes room for this many bytes in the open region.
  void make_room(std::size_t payload_bytes);
  // Nothing, if another stream was faster.
  std::optional<ChunkId> publish(std::vector<ChunkExtent>& extents, const RegionEntry& entry, ByteSpan payload);
  void place_payload(ByteSpan payload);
  class Noted;

  PendingChunks& pending_;
  ChunkIdAllocator& ids_;
  const std::uint32_t region_bytes_;
  const Closed closed_;
  std::shared_ptr<PendingRegion> open_;
  std::uint64_t next_id_ = 0;
  std::uint64_t block_end_ = 0;
};

}  // namespace dedupfs
