// The parts of a sealed file as bytes. See docs/format.md, "Sealed files".
//
//   file    = segments, and behind them, once nobody writes to it any more, a map of all records, and a trailer
//   segment = salt, sealed head; records
//   record  = sealed header, the pieces of what was written at once
//
// Each segment and each trailer has a random salt, and so a key of its own. The nonce of what is sealed is its place in the file. A
// segment only grows, so no place of it is sealed twice. The head of a segment is bound to the salt of the one before.
//
// Threads: values; free functions are safe from any thread.
// Failure: decoders of authenticated bytes give nothing for what no writer makes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "store/seal/cipher.h"

namespace dedupfs {

inline constexpr std::size_t kSealSaltBytes = 32;
inline constexpr std::size_t kSealHeadBytes = 24;  // of a segment, of a record, of a trailer: before they are sealed
inline constexpr std::size_t kSealedHeadBytes = kSealHeadBytes + kTagBytes;
inline constexpr std::size_t kSegmentHeadBytes = kSealSaltBytes + kSealedHeadBytes;
inline constexpr std::size_t kSealTrailerBytes = kSealSaltBytes + kSealedHeadBytes;
// What is sealed at once. A reader decrypts whole pieces.
inline constexpr std::size_t kPieceBytes = 8 << 10;
// Longer writes become several records.
inline constexpr std::size_t kMaxRecordBytes = 1 << 20;
// A file with a longer map has none: millions of records. Its readers go through them.
inline constexpr std::uint64_t kMaxMapBytes = 64 << 20;

using SealSalt = std::array<std::uint8_t, kSealSaltBytes>;
// Drawn whenever a volume is opened to be changed. A file tells by it when each part of it was written.
using SessionId = std::array<std::uint8_t, 16>;
using TrailerBytes = std::array<std::uint8_t, kSealTrailerBytes>;

constexpr std::uint64_t pieces_of(std::uint64_t plain_bytes) {
  return (plain_bytes + kPieceBytes - 1) / kPieceBytes;
}
// What so many bytes take when they are sealed.
constexpr std::uint64_t sealed_bytes_of(std::uint64_t plain_bytes) {
  return plain_bytes + pieces_of(plain_bytes) * kTagBytes;
}

struct SegmentHead {
  SessionId session{};
};

struct RecordHead {
  enum class Kind : std::uint8_t { kData = 1, kTruncation = 2 };

  Kind kind = Kind::kData;
  std::uint32_t bytes = 0;        // of data
  std::uint64_t offset = 0;       // of the data; of a truncation, the new size
  std::uint64_t durable_end = 0;  // what stands before this place in the file was synced before the record was written
};

struct SealTrailer {
  std::uint64_t map_place = 0;
  std::uint64_t map_bytes = 0;  // before it is sealed
  std::uint64_t size = 0;       // of the content
};

// A stretch of the content, and the record that has it.
struct SealedExtent {
  std::uint64_t begin = 0;  // in the content
  std::uint64_t end = 0;
  std::uint64_t record_begin = 0;  // in the content
  std::uint32_t record_bytes = 0;
  std::uint32_t segment = 0;
  std::uint64_t place = 0;  // of the first piece of the record, in the file

  bool operator==(const SealedExtent&) const = default;
};

struct SealedSegment {
  std::uint64_t place = 0;  // of the salt, in the file
  SealSalt salt{};
  SessionId session{};
  std::uint32_t key_number = 0;  // of the master key; never lower than that of the segment before

  bool operator==(const SealedSegment&) const = default;
};

struct SealedMap {
  std::vector<SealedSegment> segments;
  std::vector<SealedExtent> extents;
};

using HeadBytes = std::array<std::uint8_t, kSealHeadBytes>;
HeadBytes encode_segment_head(const SegmentHead& head);
HeadBytes encode_record_head(const RecordHead& head);
HeadBytes encode_seal_trailer(const SealTrailer& trailer);
std::optional<SegmentHead> decode_segment_head(const HeadBytes& bytes);
std::optional<RecordHead> decode_record_head(const HeadBytes& bytes);
SealTrailer decode_seal_trailer(const HeadBytes& bytes);

std::string encode_sealed_map(const SealedMap& map);
// `file_bytes`: no record reaches beyond.
std::optional<SealedMap> decode_sealed_map(ByteSpan bytes, std::uint64_t file_bytes);

}  // namespace dedupfs
