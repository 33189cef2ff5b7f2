#include "store/format/region.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/coding.h"
#include "codec/registry.h"
#include "store/format/chunk_ids.h"

namespace dedupfs {
namespace {

// Encoding, one byte of raw length, one of the id's difference, the fingerprint.
constexpr std::size_t kMinDirectoryEntryBytes = 3 + sizeof(Fingerprint::bytes);

std::uint64_t checksum_of(ByteSpan bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

Error unknown_encoding(PayloadEncoding encoding) {
  return corruption("region payload has the unknown encoding " + std::to_string(static_cast<int>(encoding)));
}

std::string encode_directory(const std::vector<RegionEntry>& entries) {
  std::string bytes;
  bytes.reserve(entries.size() * 40);
  Encoder encoder(bytes);
  std::uint64_t previous = 0;
  for (const RegionEntry& entry : entries) {
    const std::uint64_t id = number_of(entry.id);
    encoder.signed_varint(static_cast<std::int64_t>(id - previous));
    encoder.bytes(ByteSpan(entry.fingerprint.bytes));
    encoder.varint(entry.raw_length);
    if (entry.is_delta()) {
      encoder.u8(static_cast<std::uint8_t>(ChunkEncoding::kDelta));
      encode_delta_sources(encoder, entry.id, entry.sources);
      encoder.u8(entry.depth);
      encoder.u32(entry.checksum);
      encoder.varint(entry.payload_length);
    } else {
      encoder.u8(static_cast<std::uint8_t>(ChunkEncoding::kRaw));
      DEDUPFS_CHECK(entry.payload_length == entry.raw_length);  // decoded ones, too
    }
    previous = id;
  }
  return bytes;
}

std::string encode_header(const RegionHeader& header) {
  std::string bytes;
  bytes.reserve(kRegionHeaderBytes);
  Encoder encoder(bytes);
  encoder.u64(kRegionMagic);
  encoder.u16(kRegionVersionWritten);
  encoder.u8(static_cast<std::uint8_t>(header.encoding));
  encoder.u8(0);
  encoder.u32(header.entries);
  encoder.u32(header.directory_length);
  encoder.u32(header.payload_length);
  encoder.u32(header.stored_length);
  encoder.u32(0);
  encoder.u64(header.directory_checksum);
  encoder.u64(header.payload_checksum);
  encoder.u64(0);
  encoder.u64(checksum_of(bytes_of(bytes)));
  DEDUPFS_CHECK(bytes.size() == kRegionHeaderBytes);  // as many as the fields, whatever they say
  return bytes;
}

Result<RegionEntry> decode_entry(Decoder& decoder, std::uint64_t previous) {
  RegionEntry entry;
  const std::uint64_t id = previous + static_cast<std::uint64_t>(decoder.signed_varint());
  entry.id = ChunkId{id};
  const ByteSpan fingerprint = decoder.bytes(entry.fingerprint.bytes.size());
  std::ranges::copy(fingerprint, entry.fingerprint.bytes.begin());
  const std::uint64_t raw_length = decoder.varint();
  std::uint64_t payload_length = raw_length;
  const std::uint8_t encoding = decoder.u8();
  if (encoding == static_cast<std::uint8_t>(ChunkEncoding::kDelta)) {
    entry.sources = decode_delta_sources(decoder, entry.id);
    entry.depth = decoder.u8();
    entry.checksum = decoder.u32();
    payload_length = decoder.varint();
    if (!decoder.ok()) return corruption("region directory is cut off");
    if (entry.sources.empty()) return corruption("chunk " + std::to_string(id) + " is a delta of impossible sources");
    if (entry.depth == 0 || entry.depth > kDeepestDelta)
      return corruption("chunk " + std::to_string(id) + " is a delta of impossible depth");
  } else if (encoding != static_cast<std::uint8_t>(ChunkEncoding::kRaw)) {
    return corruption("chunk " + std::to_string(id) + " has the unknown encoding " + std::to_string(encoding));
  }
  if (!decoder.ok()) return corruption("region directory is cut off");
  if (!is_possible(entry.id)) return corruption("a chunk has the impossible id " + std::to_string(id));
  if (raw_length == 0 || raw_length > (entry.is_delta() ? kMaxDeltaChunkBytes : kMaxChunkBytes) ||
      payload_length == 0 || payload_length > kMaxChunkBytes)
    return corruption("chunk " + std::to_string(id) + " has an impossible length");
  entry.raw_length = static_cast<std::uint32_t>(raw_length);
  entry.payload_length = static_cast<std::uint32_t>(payload_length);
  return entry;
}

// The way of a payload to the disk: compress, append to the region. Bytes of a payload go into regions only here. A step that
// changes stored bytes once more (encryption would seal them) belongs at the end, for both encodings. Its counterpart is in
// load_payload().
//
// The payload is stored as it is if compression would save less than 1/16.
PayloadEncoding store_payload(std::string& region, ByteSpan payload, const Compression& compression) {
  PayloadEncoding encoding = PayloadEncoding::kRaw;
  const std::size_t payload_at = region.size();
  if (!compression.is_none()) {
    region.resize(payload_at + payload.size());
    const MutableByteSpan out =
        MutableByteSpan(reinterpret_cast<std::uint8_t*>(region.data()), region.size()).subspan(payload_at);
    const std::size_t limit = payload.size() - (payload.size() + 15) / 16;
    const auto length = compression.codec->encode(payload, out, limit, compression.level);
    if (length) encoding = compression.codec->info().encoding;
    region.resize(payload_at + length.value_or(0));
  }
  if (encoding == PayloadEncoding::kRaw) region.append(text_of(payload));
  return encoding;
}

// The way back: check, decompress. Bytes of a payload come out of regions only here. A last step of store_payload() is undone
// behind the check.
//
// Writes into `out`. If `out` is `stored` itself, nothing is copied.
Result<void> load_payload(const RegionHeader& header, ByteSpan stored, MutableByteSpan out) {
  DEDUPFS_TRY(verify_stored_payload(header, stored));
  if (header.encoding == PayloadEncoding::kRaw && out.data() == stored.data()) return {};
  const Codec* codec = find_codec(header.encoding);
  if (codec == nullptr) return unknown_encoding(header.encoding);
  if (const auto decoded = codec->decode(stored, out); !decoded) return decoded.error().with("region payload");
  return {};
}

bool ids_are_distinct(const std::vector<RegionEntry>& entries) {
  if (std::ranges::is_sorted(entries, std::ranges::less_equal{}, &RegionEntry::id)) return true;
  std::vector<ChunkId> ids(entries.size());
  std::ranges::transform(entries, ids.begin(), &RegionEntry::id);
  std::ranges::sort(ids);
  return std::ranges::adjacent_find(ids) == ids.end();
}

}  // namespace

std::uint32_t delta_checksum_of(ByteSpan chunk) {
  return static_cast<std::uint32_t>(checksum_of(chunk));
}

std::uint64_t RegionHeader::disk_length() const {
  return kRegionHeaderBytes + std::uint64_t{directory_length} + stored_length;
}

const RegionEntry* Region::find(ChunkId id) const {
  const auto found = std::ranges::lower_bound(entries, id, {}, &RegionEntry::id);
  return found != entries.end() && found->id == id ? &*found : nullptr;
}

std::string encode_region(const std::vector<RegionEntry>& entries, ByteSpan payload, const Compression& compression) {
  DEDUPFS_CHECK(!entries.empty() && payload.size() <= kMaxRegionPayloadBytes);  // RegionPacker sees to it
  const std::string directory = encode_directory(entries);
  DEDUPFS_CHECK(directory.size() <= kMaxRegionDirectoryBytes);  // 4096 entries are less

  const std::size_t payload_at = kRegionHeaderBytes + directory.size();
  std::string region;
  region.reserve(payload_at + payload.size());
  region.resize(kRegionHeaderBytes);
  region += directory;
  const PayloadEncoding encoding = store_payload(region, payload, compression);

  const std::string header = encode_header({
      .encoding = encoding,
      .entries = static_cast<std::uint32_t>(entries.size()),
      .directory_length = static_cast<std::uint32_t>(directory.size()),
      .payload_length = static_cast<std::uint32_t>(payload.size()),
      .stored_length = static_cast<std::uint32_t>(region.size() - payload_at),
      .directory_checksum = checksum_of(bytes_of(directory)),
      .payload_checksum = checksum_of(bytes_of(region).subspan(payload_at)),
  });
  std::ranges::copy(header, region.begin());
  return region;
}

std::string encode_gap_header(std::uint64_t disk_length) {
  DEDUPFS_CHECK(disk_length >= kRegionHeaderBytes);  // of a region of ours
  const std::uint64_t skipped = disk_length - kRegionHeaderBytes;
  const std::uint64_t as_payload = std::min<std::uint64_t>(skipped, kMaxRegionPayloadBytes);
  DEDUPFS_CHECK(skipped - as_payload <= kMaxRegionDirectoryBytes);  // of a region of ours
  return encode_header({.directory_length = static_cast<std::uint32_t>(skipped - as_payload),
                        .payload_length = static_cast<std::uint32_t>(as_payload),
                        .stored_length = static_cast<std::uint32_t>(as_payload)});
}

Result<RegionHeader> decode_region_header(ByteSpan bytes) {
  DEDUPFS_CHECK(bytes.size() == kRegionHeaderBytes);  // the buffer of the caller
  Decoder decoder(bytes);
  if (decoder.u64() != kRegionMagic) return corruption("no region starts here");
  const std::uint16_t version = decoder.u16();
  const std::uint8_t encoding = decoder.u8();
  decoder.u8();
  RegionHeader header;
  header.entries = decoder.u32();
  header.directory_length = decoder.u32();
  header.payload_length = decoder.u32();
  header.stored_length = decoder.u32();
  decoder.u32();
  header.directory_checksum = decoder.u64();
  header.payload_checksum = decoder.u64();
  decoder.u64();
  const std::uint64_t checksum = decoder.u64();
  DEDUPFS_CHECK(decoder.ok_at_end());  // as many bytes as fields, whatever they say
  if (checksum != checksum_of(bytes.first(kRegionHeaderBytes - sizeof checksum)))
    return corruption("the checksum of the region header differs");
  if (version > kRegionVersionWritten || version < kRegionVersionOldestRead)
    return Error{ErrorCode::kVersion, "region has format version " + std::to_string(version)};
  header.encoding = PayloadEncoding{encoding};
  if (find_codec(header.encoding) == nullptr) return unknown_encoding(header.encoding);
  if (header.directory_length > kMaxRegionDirectoryBytes || header.payload_length > kMaxRegionPayloadBytes ||
      header.stored_length > header.payload_length)
    return corruption("region header states an impossible length");
  if (header.encoding == PayloadEncoding::kRaw && header.stored_length != header.payload_length)
    return corruption("region header states two lengths for a raw payload");
  if (header.entries > header.directory_length / kMinDirectoryEntryBytes)
    return corruption("region header states more entries than its directory can hold");
  return header;
}

Result<std::vector<RegionEntry>> decode_region_directory(const RegionHeader& header, ByteSpan directory) {
  if (header.is_gap()) return corruption("a write to this place had failed");
  if (directory.size() != header.directory_length) return corruption("region directory has the wrong length");
  if (checksum_of(directory) != header.directory_checksum)
    return corruption("the checksum of the region directory differs");

  std::vector<RegionEntry> entries;
  entries.reserve(header.entries);
  Decoder decoder(directory);
  std::uint64_t previous = 0;
  std::uint64_t payload_offset = 0;
  for (std::uint32_t i = 0; i < header.entries; ++i) {
    DEDUPFS_ASSIGN(RegionEntry entry, decode_entry(decoder, previous));
    if (entry.payload_length > header.payload_length - payload_offset)
      return corruption("the chunks of the region are longer than its payload");
    entry.payload_offset = static_cast<std::uint32_t>(payload_offset);
    payload_offset += entry.payload_length;
    previous = number_of(entry.id);
    entries.push_back(entry);
  }
  if (!decoder.ok_at_end()) return corruption("bytes follow the last entry of the region directory");
  if (payload_offset != header.payload_length) return corruption("the chunks of the region do not fill its payload");
  if (!ids_are_distinct(entries)) return corruption("two chunks of the region have one id");
  return entries;
}

Result<void> verify_stored_payload(const RegionHeader& header, ByteSpan stored) {
  if (stored.size() != header.stored_length) return corruption("region payload has the wrong length");
  if (checksum_of(stored) != header.payload_checksum) return corruption("the checksum of the region payload differs");
  return {};
}

Result<RawBuffer> decode_region_payload(const RegionHeader& header, ByteSpan stored) {
  RawBuffer payload(header.payload_length);
  DEDUPFS_TRY(load_payload(header, stored, payload));
  return payload;
}

Result<void> decode_region_payload_in_place(const RegionHeader& header, Region& region) {
  const MutableByteSpan payload = MutableByteSpan(region.payload).subspan(region.payload_begin);
  if (header.encoding != PayloadEncoding::kRaw || payload.size() != header.payload_length)
    return corruption("region payload has another length than its header says");
  return load_payload(header, payload, payload);
}

}  // namespace dedupfs
