#include "store/chunks/chunk_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "delta/xdelta3_codec.h"
#include "store/chunks/fingerprint.h"
#include "store/chunks/joined_chunks.h"

namespace dedupfs {
namespace {

// The share of the cache for chunks made from deltas. The regions take the rest.
constexpr std::size_t kDecodedShare = 4;

std::string name_of_chunk(ChunkId id) {
  return fmt::format("chunk {}", number_of(id));
}

Error not_in_index(ChunkId id) {
  return corruption(name_of_chunk(id) + " is not in the index");
}

}  // namespace

ChunkReader::ChunkReader(const ContainerStore& containers, const Database& database, const PendingChunks& pending,
                         std::size_t cache_bytes)
    : containers_(containers),
      database_(database),
      pending_(pending),
      regions_(cache_bytes - cache_bytes / kDecodedShare,
               [&containers](RegionRange range) { return containers.read(range); }),
      decoded_(cache_bytes / kDecodedShare) {}

Result<ExtentCache::Found> ChunkReader::locate(ChunkId id) {
  const auto cached = extents_.find(id);
  extent_meter_.note(cached.has_value());
  if (cached) return *cached;
  const std::uint64_t generation = extents_.generation();
  DEDUPFS_ASSIGN(const auto extent, find_extent(database_, id));
  if (!extent) return not_in_index(id);
  extents_.insert(*extent, generation);
  return ExtentCache::found_in(*extent);
}

Result<ChunkReader::Stored> ChunkReader::get_stored(ChunkId id) {
  if (const auto location = pending_.locate(id)) {
    if (location->region)
      return Stored{location->entry, {location->region->payload_of(location->entry), location->region}};
    return read_stored(id, location->range);
  }
  // One that is not in the index was never there: a neighbour that somebody guessed.
  DEDUPFS_ASSIGN(const ExtentCache::Found known, locate(id));
  auto stored = read_stored(id, known.region);
  if (stored) return stored;
  // It may have moved since the place was cached, and other extents that are cached may be stale, too.
  extents_.forget(id);
  DEDUPFS_ASSIGN(const auto now, find_extent(database_, id));
  if (!now) return not_in_index(id);
  if (now->place != known.region.place) stored = read_stored(id, now->region());
  if (!stored) note_damage(id, stored.error());
  return stored;
}

Result<ChunkReader::Stored> ChunkReader::get_stored_now(ChunkId id) {
  extents_.forget(id);
  return get_stored(id);
}

void ChunkReader::note_damage(ChunkId id, const Error& error) {
  if (error.code() != ErrorCode::kCorruption && error.code() != ErrorCode::kIo) return;
  if (damaged_.contains(id)) return;
  const auto extent = find_extent(database_, id);
  if (!extent || !*extent) return;
  damaged_.insert(id);
  // If the region is damaged, so are all chunks in it.
  if (!regions_.get((*extent)->region())) damaged_.insert((*extent)->first, (*extent)->chunks.size());
}

Result<ChunkReader::Stored> ChunkReader::read_stored(ChunkId id, RegionRange range) {
  auto region = regions_.get(range);
  if (!region) return region.error().with(name_of_chunk(id));
  const RegionEntry* const entry = (*region)->find(id);
  if (entry == nullptr)
    return corruption(
        fmt::format("{} is not in container {} at {}", name_of_chunk(id), range.place.container, range.place.offset));
  return Stored{*entry, {(*region)->payload_of(*entry), *region}};
}

bool ChunkReader::has(ChunkId id) const {
  if (pending_.contains(id) || extents_.find(id)) return true;
  const auto stored = has_chunk(database_, id);
  return stored && *stored;
}

bool ChunkReader::is_cached(ChunkId id) {
  if (pending_.locate(id)) return true;
  const auto found = locate(id);
  return !found ||
         (!found->has_deltas && regions_.contains(found->region.place));  // an error shows when somebody reads it
}

bool ChunkReader::is_near(ChunkId id) {
  std::size_t chunks_left = kMaxChunksPerRead;
  return is_near(id, chunks_left);
}

// An error shows when somebody reads it.
bool ChunkReader::is_near(ChunkId id, std::size_t& chunks_left) {
  if (chunks_left == 0) return false;
  --chunks_left;
  if (pending_.locate(id)) return true;
  const auto found = locate(id);
  if (!found) return true;
  if (!regions_.contains(found->region.place) && !containers_.is_near(found->region)) return false;
  if (!found->has_deltas) return true;
  const auto stored = get_stored(id);
  if (!stored || !stored->entry.is_delta() || decoded_.find(id)) return true;
  return std::ranges::all_of(stored->entry.sources, [&](ChunkId source) { return is_near(source, chunks_left); });
}

Result<ChunkReader::Chunk> ChunkReader::get(ChunkId id) {
  std::size_t chunks_left = kMaxChunksPerRead;
  auto chunk = get(id, kDeepestDelta + 1, chunks_left);
  if (!chunk || !damaged_.contains(id)) return chunk;
  DEDUPFS_ASSIGN(const Stored stored, get_stored(id));
  if (fingerprint_of(chunk->bytes.bytes) != stored.entry.fingerprint)
    return corruption(name_of_chunk(id) + " does not match its fingerprint");
  return chunk;
}

bool ChunkReader::can_be_made(ChunkId id) {
  std::size_t chunks_left = kMaxChunksPerRead;
  return get(id, kDeepestDelta + 1, chunks_left).has_value();
}

Result<ChunkReader::Chunk> ChunkReader::get(ChunkId id, std::uint8_t depth_limit, std::size_t& chunks_left) {
  if (chunks_left-- == 0) return corruption(name_of_chunk(id) + " would take too many others to make");
  DEDUPFS_ASSIGN(const Stored stored, get_stored(id));
  auto chunk = make(stored, depth_limit, chunks_left);
  if (chunk || !stored.entry.is_delta()) return chunk;
  // Since its place was cached, the chunk may have been re-encoded with other sources, and its old sources erased.
  const auto now = get_stored_now(id);
  return now && now->entry != stored.entry ? make(*now, depth_limit, chunks_left) : chunk;
}

Result<ChunkReader::Chunk> ChunkReader::make(const Stored& stored, std::uint8_t depth_limit, std::size_t& chunks_left) {
  const ChunkId id = stored.entry.id;
  if (stored.entry.depth >= depth_limit) return corruption(name_of_chunk(id) + " is too deep to be a source");
  if (!stored.entry.is_delta()) return Chunk{stored.payload, 0, {}};
  Chunk chunk{{}, stored.entry.depth, stored.entry.sources};
  const auto decoded = decoded_.find(id);
  decoded_meter_.note(decoded != nullptr);
  if (decoded) {
    chunk.bytes = {*decoded, decoded};
    return chunk;
  }
  auto bytes = decode(stored, chunks_left);
  if (!bytes) return bytes.error().with(name_of_chunk(id) + ", a delta");
  chunk.bytes = std::move(*bytes);
  return chunk;
}

Result<PinnedBytes> ChunkReader::decode(const Stored& delta, std::size_t& chunks_left) {
  const RegionEntry& entry = delta.entry;
  JoinedChunks source;
  for (const ChunkId id : entry.sources) {
    DEDUPFS_ASSIGN(Chunk chunk, get(id, entry.depth, chunks_left));
    source.append(std::move(chunk.bytes));
  }
  const auto decoded = std::make_shared<RawBuffer>(entry.raw_length);
  // Most deltas copy from one or two of their sources: only those bytes are joined.
  DEDUPFS_ASSIGN(const Xdelta3Codec::Range range, Xdelta3Codec::source_range(delta.payload.bytes));
  DEDUPFS_TRY(Xdelta3Codec::decode(source.bytes(range.begin, range.end), delta.payload.bytes, *decoded));
  if (delta_checksum_of(*decoded) != entry.checksum) {
    damaged_.insert(entry.id);
    return corruption("it makes other bytes than were stored");
  }
  decoded_.insert(entry.id, decoded);
  return PinnedBytes{*decoded, decoded};
}

}  // namespace dedupfs
