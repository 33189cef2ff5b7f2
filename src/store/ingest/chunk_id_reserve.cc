#include "store/ingest/chunk_id_reserve.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>

#include "base/coding.h"
#include "base/crash_point.h"
#include "index/counters.h"
#include "index/entries.h"
#include "store/chunks/chunk_index.h"
#include "store/containers/unknown_containers.h"
#include "store/format/chunk_ids.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kReservedIds = 1 << 20;
constexpr std::uint64_t kReserveWhenLeft = 1 << 16;

// Behind the ids from `next` on that an extent has. On a sound volume none has: a look-up and a page of extents.
Result<std::uint64_t> first_id_behind_extents(const Database& index, std::uint64_t next) {
  constexpr std::size_t kExtentsPerPage = 256;
  std::uint64_t end = next;
  // An extent that begins further below does not reach so far.
  const ChunkId lowest{next - std::min(next, kMaxChunksPerExtent)};
  const auto note = [&end](const std::string& key, const std::string& value) -> Result<void> {
    Decoder in(key);
    const std::uint64_t first = in.big_u64();
    const auto extent = decode_extent(key, value);
    // If an entry does not parse, nobody knows how far it reaches.
    if (extent || (in.ok_at_end() && is_possible(ChunkId{first})))
      end = std::max(end, first + (extent ? extent->chunks.size() : kMaxChunksPerExtent));
    return {};
  };
  DEDUPFS_TRY(visit_entries(index, Family::kChunks, encode_extent_key(lowest), {}, kExtentsPerPage, note));
  return end;
}

}  // namespace

Result<std::uint64_t> load_next_chunk_id(const Database& index, const ContainerStore& containers,
                                         std::uint32_t first_unknown_container) {
  DEDUPFS_ASSIGN(const auto counter, get_number(index, kNextChunkIdCounter));
  const std::uint64_t next = counter.value_or(1);
  if (next == 0 || next > kEndOfChunkIds)
    return Error{ErrorCode::kCorruption, "the counter " + std::string(kNextChunkIdCounter) + " is out of range"};
  DEDUPFS_ASSIGN(const std::uint64_t behind_extents, first_id_behind_extents(index, next));
  if (behind_extents != next)
    spdlog::warn("the next chunk id was {}, but chunk {} is there: it is {} now", next, behind_extents - 1,
                 behind_extents);
  DEDUPFS_ASSIGN(const std::uint64_t behind_unknown, first_id_behind_unknown(containers, first_unknown_container));
  return std::max(behind_extents, behind_unknown);
}

ChunkIdReserve::~ChunkIdReserve() {
  if (end_ > ids_.next()) (void)write(ids_.next());
}

bool ChunkIdReserve::is_low() const {
  return ids_.next() + kReserveWhenLeft > end_;
}

Result<void> ChunkIdReserve::ensure() {
  if (!is_low()) return {};
  const MutexLock lock(mutex_);
  if (!is_low()) return {};
  const std::uint64_t end = ids_.next() + kReservedIds;
  if (end > kEndOfChunkIds) return Error{ErrorCode::kNoSpace, "all chunk ids of the volume are used up"};
  DEDUPFS_TRY(write(end));
  crash_point("ids.reserved");
  end_ = end;
  return {};
}

Result<void> ChunkIdReserve::write(std::uint64_t next_id) {
  Database::Batch batch(index_);
  batch.put(Family::kCounters, kNextChunkIdCounter, encode_number(next_id));
  return index_.write(batch);
}

}  // namespace dedupfs
