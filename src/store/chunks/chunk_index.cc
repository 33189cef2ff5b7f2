#include "store/chunks/chunk_index.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/coding.h"
#include "store/format/chunk_ids.h"

namespace dedupfs {
namespace {

// The extents of a region that a chunk may continue. Chunks that move in the order of a file take turns with their sources, and
// with the sources of these.
constexpr std::size_t kSearchedExtents = 16;

}  // namespace

ChunkExtent ChunkExtent::part(std::size_t from, std::size_t to) const {
  return {
      .first = id_of(from),
      .place = place,
      .region_disk_bytes = region_disk_bytes,
      .region_payload_bytes = region_payload_bytes,
      .chunks = {chunks.begin() + static_cast<std::ptrdiff_t>(from), chunks.begin() + static_cast<std::ptrdiff_t>(to)}};
}

std::size_t append_to_extents(std::vector<ChunkExtent>& extents, const RegionEntry& entry) {
  ChunkExtent::Chunk chunk{.raw_length = entry.raw_length,
                           .delta_length = entry.is_delta() ? entry.payload_length : 0,
                           .sources = entry.sources};
  const std::size_t end_of_search = extents.size() - std::min(extents.size(), kSearchedExtents);
  for (std::size_t position = extents.size(); position-- > end_of_search;) {
    ChunkExtent& last = extents[position];
    if (last.id_of(last.chunks.size()) != entry.id || last.chunks.size() == kMaxChunksPerExtent) continue;
    last.chunks.push_back(chunk);
    return position;
  }
  ChunkExtent extent;
  extent.first = entry.id;
  extent.chunks.push_back(chunk);
  extents.push_back(std::move(extent));
  return extents.size() - 1;
}

void drop_last(std::vector<ChunkExtent>& extents, std::size_t position) {
  extents[position].chunks.pop_back();
  if (extents[position].chunks.empty()) extents.pop_back();  // it was begun for that chunk
}

std::string encode_extent_key(ChunkId first) {
  std::string key;
  Encoder(key).big_u64(number_of(first));
  return key;
}

// Raw lengths of all chunks come first; the few that are deltas are named behind them.
std::string encode_extent(const ChunkExtent& extent) {
  DEDUPFS_CHECK(!extent.chunks.empty());  // decoded ones have chunks, parts of them too
  std::string value;
  value.reserve(24 + 3 * extent.chunks.size());
  Encoder encoder(value);
  encoder.varint(extent.place.container);
  encoder.varint(extent.place.offset);
  encoder.varint(extent.region_disk_bytes);
  encoder.varint(extent.region_payload_bytes);
  encoder.varint(extent.chunks.size());
  for (const ChunkExtent::Chunk& chunk : extent.chunks) encoder.varint(chunk.raw_length);
  std::size_t next = 0;
  for (std::size_t i = 0; i < extent.chunks.size(); ++i) {
    if (!extent.chunks[i].is_delta()) continue;
    encoder.varint(i - next);
    encode_delta_sources(encoder, ChunkId{number_of(extent.first) + i}, extent.chunks[i].sources);
    encoder.varint(extent.chunks[i].delta_length);
    next = i + 1;
  }
  return value;
}

namespace {

Error corrupt_extent(std::uint64_t first, std::string_view what) {
  return {ErrorCode::kCorruption, "chunk index, entry " + std::to_string(first) + ": " + std::string(what)};
}

std::uint32_t read_extent_u32(Decoder& decoder, bool& fits) {
  const std::uint64_t number = decoder.varint();
  fits = fits && number <= std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(number);
}

// What stands in front of the chunks' lengths: fills all of `extent` but its chunks, and returns how many there are.
Result<std::uint64_t> decode_extent_front(std::string_view key, Decoder& decoder, ChunkExtent& extent) {
  Decoder key_decoder(key);
  const std::uint64_t first = key_decoder.big_u64();
  if (!key_decoder.ok_at_end()) return Error{ErrorCode::kCorruption, "a key in the chunk index has the wrong length"};
  bool fits = true;
  extent.first = ChunkId{first};
  extent.place.container = read_extent_u32(decoder, fits);
  extent.place.offset = read_extent_u32(decoder, fits);
  extent.region_disk_bytes = read_extent_u32(decoder, fits);
  extent.region_payload_bytes = read_extent_u32(decoder, fits);
  const std::uint64_t count = decoder.varint();
  if (!decoder.ok() || !fits) return corrupt_extent(first, "it is cut off or has a number out of range");
  if (count == 0 || count > decoder.remaining() || count > kMaxChunksPerExtent)
    return corrupt_extent(first, "it has an impossible number of chunks");
  if (first == 0 || first > kEndOfChunkIds - count) return corrupt_extent(first, "it has impossible chunk ids");
  return count;
}

// The last entry that may have the chunk. One that begins further below does not reach so far; without that bound, the search
// for one that was erased goes over the tombstones below it.
Result<std::optional<KeyValue>> find_entry(const Database& database, ChunkId id) {
  const ChunkId lowest{number_of(id) - std::min(number_of(id), kMaxChunksPerExtent)};
  return database.find_at_or_before(Family::kChunks, encode_extent_key(id), encode_extent_key(lowest));
}

}  // namespace

Result<ChunkExtent> decode_extent(std::string_view key, std::string_view value) {
  Decoder decoder(value);
  ChunkExtent extent;
  DEDUPFS_ASSIGN(const std::uint64_t count, decode_extent_front(key, decoder, extent));
  const std::uint64_t first = number_of(extent.first);
  const auto corrupt = [first](std::string_view what) { return corrupt_extent(first, what); };

  bool fits = true;
  extent.chunks.resize(count);
  for (ChunkExtent::Chunk& chunk : extent.chunks) {
    chunk.raw_length = read_extent_u32(decoder, fits);
    if (chunk.raw_length == 0 || chunk.raw_length > kMaxChunkBytes || !fits)
      return corrupt("a chunk has an impossible length");
  }
  for (std::uint64_t next = 0; decoder.remaining() > 0;) {
    const std::uint64_t skipped = decoder.varint();
    if (!decoder.ok() || skipped >= count - next) return corrupt("its list of deltas does not parse");
    const std::uint64_t index = next + skipped;
    ChunkExtent::Chunk& chunk = extent.chunks[index];
    chunk.sources = decode_delta_sources(decoder, ChunkId{first + index});
    chunk.delta_length = read_extent_u32(decoder, fits);
    if (!decoder.ok() || !fits || !chunk.is_delta()) return corrupt("a delta of impossible sources");
    if (chunk.delta_length == 0 || chunk.delta_length > kMaxChunkBytes)
      return corrupt("a delta has an impossible length");
    next = index + 1;
  }
  return extent;
}

std::string encode_chunk_id(ChunkId id) {
  std::string value;
  Encoder(value).varint(number_of(id));
  return value;
}

Result<ChunkId> decode_chunk_id(std::string_view value) {
  Decoder decoder(value);
  const ChunkId id{decoder.varint()};
  if (!decoder.ok_at_end()) return Error{ErrorCode::kCorruption, "a value in the fingerprint index is no chunk id"};
  return id;
}

Result<std::optional<ChunkExtent>> find_extent(const Database& database, ChunkId id) {
  DEDUPFS_ASSIGN(const auto found, find_entry(database, id));
  if (!found) return std::optional<ChunkExtent>();
  DEDUPFS_ASSIGN(ChunkExtent extent, decode_extent(found->first, found->second));
  if (!extent.contains(id)) return std::optional<ChunkExtent>();
  return std::optional(std::move(extent));
}

Result<std::optional<ExtentFront>> find_extent_front(const Database& database, ChunkId id) {
  DEDUPFS_ASSIGN(const auto found, find_entry(database, id));
  if (!found) return std::optional<ExtentFront>();
  Decoder decoder(found->second);
  ChunkExtent extent;
  DEDUPFS_ASSIGN(const std::uint64_t count, decode_extent_front(found->first, decoder, extent));
  const ExtentFront front{extent.first, count, extent.place};
  return front.contains(id) ? std::optional(front) : std::nullopt;
}

Result<bool> has_chunk(const Database& database, ChunkId id) {
  DEDUPFS_ASSIGN(const auto front, find_extent_front(database, id));
  return front.has_value();
}

Result<void> walk_extents(const Database& database, const Database::Snapshot& snapshot,
                          const std::function<Result<void>(const ChunkExtent&)>& visit) {
  Result<void> result;
  DEDUPFS_TRY(database.walk(snapshot, Family::kChunks, [&](std::string_view key, std::string_view value) {
    const auto extent = decode_extent(key, value);
    result = extent ? visit(*extent) : Result<void>(extent.error());
    return result.has_value();
  }));
  return result;
}

}  // namespace dedupfs
