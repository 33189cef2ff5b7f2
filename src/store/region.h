// A region: chunk payloads packed together and compressed as one unit, behind a directory that says what they are.
// This file is the codec between bytes and structures; see docs/format.md, "Region". No file is touched here.
//
// Threads:   free functions, safe from any thread.
// Failure:   decoding checks every length before use, and the checksums; wrong bytes give kCorruption with the reason.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "store/superblock.h"
#include "store/types.h"

namespace dedupfs {

enum class ChunkEncoding : std::uint8_t {  // written to disk: never change or reuse a number
  kRaw = 0,    // the chunk's bytes
  kDelta = 1,  // VCDIFF against the base chunk
};

struct RegionEntry {
  ChunkId id{};
  Fingerprint fingerprint;
  std::uint32_t raw_length = 0;  // of the chunk
  ChunkEncoding encoding = ChunkEncoding::kRaw;
  ChunkId base{};                 // of a delta
  std::uint32_t payload_offset = 0;  // in the decompressed payload; on disk entries lie back to back and only lengths are kept
  std::uint32_t payload_length = 0;  // raw_length, or the length of the delta
};

struct RegionHeader {
  bool compressed = false;             // zstd; otherwise payload is stored as it is
  std::uint32_t entries = 0;
  std::uint32_t directory_length = 0;  // bytes on disk
  std::uint32_t payload_length = 0;    // decompressed
  std::uint32_t stored_length = 0;     // payload bytes on disk
  std::uint64_t directory_checksum = 0;
  std::uint64_t payload_checksum = 0;  // of the bytes on disk

  std::uint64_t disk_length() const;   // header + directory + stored payload
};

inline constexpr std::size_t kRegionHeaderBytes = 64;
// No valid region has a longer directory or payload, whatever its header says.
inline constexpr std::uint32_t kLargestRegionPayloadBytes = 4 << 20;
inline constexpr std::uint32_t kLargestRegionDirectoryBytes = 1 << 20;

// A region with its payload decompressed: what readers and caches hold. Immutable once made.
struct Region {
  std::vector<RegionEntry> entries;  // sorted by id
  ByteBuffer payload;

  const RegionEntry* find(ChunkId id) const;
  ByteSpan payload_of(const RegionEntry& entry) const {
    return ByteSpan(payload).subspan(entry.payload_offset, entry.payload_length);
  }
};

// The bytes of a region as they go to disk. Entries are in order of payload; their payload_offset is ignored (back to back).
// Stored raw where compression saves less than 1/16.
std::string encode_region(const std::vector<RegionEntry>& entries, ByteSpan payload, const Compression& compression);

Result<RegionHeader> decode_region_header(ByteSpan bytes);  // kRegionHeaderBytes of them
// Entries in order of payload, with payload_offset filled in.
Result<std::vector<RegionEntry>> decode_region_directory(const RegionHeader& header, ByteSpan directory);
Result<ByteBuffer> decode_region_payload(const RegionHeader& header, ByteSpan stored);

}  // namespace dedupfs
