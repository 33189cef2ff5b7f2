#include "store/seal/sealed_layout.h"

#include <algorithm>

#include "base/check.h"
#include "base/coding.h"

namespace dedupfs {
namespace {

constexpr std::uint8_t kSealVersion = 1;

HeadBytes head_from(const std::string& encoded) {
  DEDUPFS_CHECK(encoded.size() == kSealHeadBytes);  // of our own
  HeadBytes bytes;
  std::ranges::copy(bytes_of(encoded), bytes.begin());
  return bytes;
}

}  // namespace

HeadBytes encode_segment_head(const SegmentHead& head) {
  std::string encoded;
  Encoder encoder(encoded);
  encoder.u64(kSealVersion);
  encoder.bytes(ByteSpan(head.session));
  return head_from(encoded);
}

std::optional<SegmentHead> decode_segment_head(const HeadBytes& bytes) {
  Decoder decoder{ByteSpan(bytes)};
  if (decoder.u64() != kSealVersion) return std::nullopt;
  SegmentHead head;
  std::ranges::copy(decoder.bytes(head.session.size()), head.session.begin());
  return head;
}

HeadBytes encode_record_head(const RecordHead& head) {
  std::string encoded;
  Encoder encoder(encoded);
  encoder.u32(static_cast<std::uint32_t>(head.kind));
  encoder.u32(head.bytes);
  encoder.u64(head.offset);
  encoder.u64(head.durable_end);
  return head_from(encoded);
}

std::optional<RecordHead> decode_record_head(const HeadBytes& bytes) {
  Decoder decoder{ByteSpan(bytes)};
  const std::uint32_t kind = decoder.u32();
  RecordHead head;
  head.bytes = decoder.u32();
  head.offset = decoder.u64();
  head.durable_end = decoder.u64();
  if (kind == static_cast<std::uint32_t>(RecordHead::Kind::kTruncation)) {
    head.kind = RecordHead::Kind::kTruncation;
    return head.bytes == 0 && head.offset <= INT64_MAX ? std::optional(head) : std::nullopt;
  }
  const bool is_possible = kind == static_cast<std::uint32_t>(RecordHead::Kind::kData) && head.bytes != 0 &&
                           head.bytes <= kMaxRecordBytes && head.offset <= std::uint64_t{INT64_MAX} - head.bytes;
  return is_possible ? std::optional(head) : std::nullopt;
}

HeadBytes encode_seal_trailer(const SealTrailer& trailer) {
  std::string encoded;
  Encoder encoder(encoded);
  encoder.u64(trailer.map_place);
  encoder.u64(trailer.map_bytes);
  encoder.u64(trailer.size);
  return head_from(encoded);
}

SealTrailer decode_seal_trailer(const HeadBytes& bytes) {
  Decoder decoder{ByteSpan(bytes)};
  SealTrailer trailer;
  trailer.map_place = decoder.u64();
  trailer.map_bytes = decoder.u64();
  trailer.size = decoder.u64();
  return trailer;
}

std::string encode_sealed_map(const SealedMap& map) {
  std::string encoded;
  Encoder encoder(encoded);
  encoder.varint(map.segments.size());
  for (const SealedSegment& segment : map.segments) {
    encoder.varint(segment.place);
    encoder.bytes(ByteSpan(segment.salt));
    encoder.bytes(ByteSpan(segment.session));
    encoder.varint(segment.key_number);
  }
  encoder.varint(map.extents.size());
  std::uint64_t end = 0;
  std::uint64_t place = 0;
  for (const SealedExtent& extent : map.extents) {
    encoder.varint(extent.begin - end);
    encoder.varint(extent.end - extent.begin);
    encoder.varint(extent.begin - extent.record_begin);
    encoder.varint(extent.record_bytes);
    encoder.varint(extent.segment);
    encoder.signed_varint(static_cast<std::int64_t>(extent.place - place));
    end = extent.end;
    place = extent.place + sealed_bytes_of(extent.record_bytes);
  }
  return encoded;
}

std::optional<SealedMap> decode_sealed_map(ByteSpan bytes, std::uint64_t file_bytes) {
  Decoder decoder(bytes);
  SealedMap map;
  const std::uint64_t segments = decoder.varint();
  if (segments > decoder.remaining() / kSealSaltBytes) return std::nullopt;
  map.segments.resize(segments);
  std::uint64_t key_before = 1;
  for (SealedSegment& segment : map.segments) {
    segment.place = decoder.varint();
    std::ranges::copy(decoder.bytes(segment.salt.size()), segment.salt.begin());
    std::ranges::copy(decoder.bytes(segment.session.size()), segment.session.begin());
    const std::uint64_t key_number = decoder.varint();
    if (key_number < key_before || key_number > UINT32_MAX) return std::nullopt;
    segment.key_number = static_cast<std::uint32_t>(key_number);
    key_before = key_number;
  }
  constexpr std::size_t kLeastExtentBytes = 6;
  const std::uint64_t extents = decoder.varint();
  if (!decoder.ok() || extents > decoder.remaining() / kLeastExtentBytes) return std::nullopt;
  map.extents.reserve(extents);
  std::uint64_t end = 0;
  std::uint64_t place = 0;
  for (std::uint64_t i = 0; i < extents; ++i) {
    const std::uint64_t gap = decoder.varint();
    const std::uint64_t length = decoder.varint();
    const std::uint64_t skipped = decoder.varint();
    const std::uint64_t record_bytes = decoder.varint();
    const std::uint64_t segment = decoder.varint();
    const std::uint64_t at = place + static_cast<std::uint64_t>(decoder.signed_varint());
    const bool is_possible = decoder.ok() && gap <= INT64_MAX - end && record_bytes <= kMaxRecordBytes && length != 0 &&
                             length <= record_bytes && skipped <= record_bytes - length && skipped <= end + gap &&
                             end + gap <= INT64_MAX - length && segment < segments && at <= file_bytes &&
                             sealed_bytes_of(record_bytes) <= file_bytes - at;
    if (!is_possible) return std::nullopt;
    const std::uint64_t begin = end + gap;
    map.extents.push_back({.begin = begin,
                           .end = begin + length,
                           .record_begin = begin - skipped,
                           .record_bytes = static_cast<std::uint32_t>(record_bytes),
                           .segment = static_cast<std::uint32_t>(segment),
                           .place = at});
    end = begin + length;
    place = at + sealed_bytes_of(record_bytes);
  }
  return decoder.ok_at_end() ? std::optional(std::move(map)) : std::nullopt;
}

}  // namespace dedupfs
