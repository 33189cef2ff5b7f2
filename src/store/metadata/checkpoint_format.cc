#include "store/metadata/checkpoint_format.h"

#include <xxhash.h>

#include <algorithm>

#include "base/check.h"
#include "base/coding.h"
#include "codec/zstd_codec.h"
#include "store/format/file_frame.h"
#include "store/format/numbered_name.h"

namespace dedupfs {
namespace {

static_assert(kCheckpointHeaderBytes == kFrameBytes);
constexpr FrameVersions kCheckpointVersions{kCheckpointVersionOldestRead, kCheckpointVersionWritten};
constexpr std::size_t kBlockChecksumAt = kCheckpointBlockHeaderBytes - sizeof(std::uint64_t);
constexpr int kLevel = 3;

std::string encode_block_header(std::uint8_t tag, bool compressed, std::size_t raw_length, std::size_t stored_length,
                                std::uint64_t checksum) {
  std::string bytes;
  Encoder encoder(bytes);
  encoder.u8(tag);
  encoder.u8(compressed ? 1 : 0);
  encoder.u16(0);
  encoder.u32(static_cast<std::uint32_t>(raw_length));
  encoder.u32(static_cast<std::uint32_t>(stored_length));
  encoder.u32(0);
  encoder.u64(checksum);
  encoder.u64(XXH3_64bits(bytes.data(), kBlockChecksumAt));
  return bytes;
}

}  // namespace

std::uint8_t tag_of(Family family) {
  const auto found = std::ranges::find(kCheckpointFamilies, family);
  DEDUPFS_CHECK(found != kCheckpointFamilies.end());  // tags on disk are looked at by decode_checkpoint_block_header()
  return static_cast<std::uint8_t>(found - kCheckpointFamilies.begin() + 1);
}

std::string encode_checkpoint_header(const CheckpointHeader& header) {
  std::string bytes = begin_frame(kCheckpointMagic, kCheckpointVersionWritten);
  Encoder encoder(bytes);
  encoder.u32(header.number);
  encoder.bytes(ByteSpan(header.volume));
  encoder.u64(static_cast<std::uint64_t>(header.created_unix_seconds));
  return end_frame(std::move(bytes));
}

Result<CheckpointHeader> decode_checkpoint_header(ByteSpan bytes) {
  DEDUPFS_ASSIGN(Decoder decoder, open_frame(bytes, kCheckpointMagic, kCheckpointVersions, "checkpoint header"));
  CheckpointHeader header;
  header.number = decoder.u32();
  std::ranges::copy(decoder.bytes(header.volume.size()), header.volume.begin());
  header.created_unix_seconds = static_cast<std::int64_t>(decoder.u64());
  return header;
}

std::string encode_checkpoint_block(Family family, std::string_view records) {
  DEDUPFS_CHECK(records.size() <= kMaxCheckpointBlockBytes);  // Checkpoints::write() refuses long records
  RawBuffer packed(records.size());
  const auto length = zstd_codec().encode(bytes_of(records), packed, packed.size(), kLevel);
  const ByteSpan stored = length ? ByteSpan(packed).first(*length) : bytes_of(records);
  std::string block = encode_block_header(tag_of(family), length.has_value(), records.size(), stored.size(),
                                          XXH3_64bits(stored.data(), stored.size()));
  block.append(text_of(stored));
  return block;
}

std::string encode_checkpoint_end(std::uint64_t blocks) {
  return encode_block_header(0, false, 0, 0, blocks);
}

Result<CheckpointBlockHeader> decode_checkpoint_block_header(ByteSpan bytes) {
  DEDUPFS_CHECK(bytes.size() == kCheckpointBlockHeaderBytes);  // the buffer of the caller
  if (Decoder(bytes.subspan(kBlockChecksumAt)).u64() != XXH3_64bits(bytes.data(), kBlockChecksumAt))
    return corruption("the checksum of the block's header differs");
  Decoder decoder(bytes);
  const std::uint8_t tag = decoder.u8();
  const std::uint8_t encoding = decoder.u8();
  decoder.u16();
  CheckpointBlockHeader header;
  header.raw_length = decoder.u32();
  header.stored_length = decoder.u32();
  decoder.u32();
  header.checksum = decoder.u64();
  header.compressed = encoding == 1;
  if (tag > kCheckpointFamilies.size() || encoding > 1) return corruption("a block of unknown kind");
  if (header.raw_length > kMaxCheckpointBlockBytes || header.stored_length > header.raw_length ||
      (!header.compressed && header.stored_length != header.raw_length) || (tag == 0 && header.raw_length != 0))
    return corruption("a block of impossible length");
  if (tag != 0) header.family = kCheckpointFamilies[tag - 1U];
  return header;
}

Result<RawBuffer> decode_checkpoint_block(const CheckpointBlockHeader& header, ByteSpan stored) {
  if (stored.size() != header.stored_length) return corruption("a block has the wrong length");
  if (XXH3_64bits(stored.data(), stored.size()) != header.checksum)
    return corruption("the checksum of a block differs");
  if (!header.compressed) return RawBuffer(stored.begin(), stored.end());
  RawBuffer records(header.raw_length);
  DEDUPFS_TRY(zstd_codec().decode(stored, records));
  return records;
}

void append_record(std::string& records, std::string_view key, std::string_view value) {
  Encoder encoder(records);
  encoder.varint(key.size());
  encoder.bytes(key);
  encoder.varint(value.size());
  encoder.bytes(value);
}

Result<bool> for_each_record(ByteSpan records, const std::function<bool(std::string_view, std::string_view)>& visit) {
  Decoder decoder(records);
  while (decoder.remaining() > 0) {
    const std::string_view key = text_of(decoder.bytes(decoder.varint()));
    const std::string_view value = text_of(decoder.bytes(decoder.varint()));
    if (!decoder.ok()) return corruption("a record does not parse");
    if (!visit(key, value)) return false;
  }
  return true;
}

std::string checkpoint_name(std::uint32_t number) {
  return numbered_name(number, kCheckpointSuffix);
}
std::optional<std::uint32_t> parse_checkpoint_name(std::string_view name) {
  return parse_numbered_name(name, kCheckpointSuffix);
}

}  // namespace dedupfs
