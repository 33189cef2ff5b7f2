// A region: chunk payloads packed together and compressed as one unit, behind a directory of them. This file converts between
// bytes and structures; see docs/format.md, "Region". No file is touched here.
//
// Threads:   free functions, safe from any thread.
// Failure:   decoding checks every length before use, and the checksums; wrong bytes give kCorruption with the reason.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/raw_buffer.h"
#include "base/result.h"
#include "codec/compression.h"
#include "store/format/delta_sources.h"
#include "store/format/format.h"
#include "store/format/types.h"

namespace dedupfs {

struct RegionEntry {
  ChunkId id{};
  Fingerprint fingerprint;
  std::uint32_t raw_length = 0;      // of the chunk
  std::uint32_t payload_offset = 0;  // in the decompressed payload; entries lie back to back, only lengths are on disk
  std::uint32_t payload_length = 0;  // raw_length, or the length of the delta
  // For a delta only:
  DeltaSources sources;        // the chunks whose bytes, back to back, it copies from
  std::uint8_t depth = 0;      // 1 + that of its deepest source; 0: not a delta
  std::uint32_t checksum = 0;  // delta_checksum_of() the chunk

  bool is_delta() const { return depth != 0; }

  bool operator==(const RegionEntry&) const = default;
};

// The checksum of a delta's result: the lower half of its XXH3. Region checksums have found damage before. This checksum finds
// that wrong chunks were taken as sources.
std::uint32_t delta_checksum_of(ByteSpan chunk);

struct RegionHeader {
  PayloadEncoding encoding = PayloadEncoding::kRaw;
  std::uint32_t entries = 0;
  std::uint32_t directory_length = 0;  // bytes on disk
  std::uint32_t payload_length = 0;    // decompressed
  std::uint32_t stored_length = 0;     // payload bytes on disk
  std::uint64_t directory_checksum = 0;
  std::uint64_t payload_checksum = 0;  // of the bytes on disk

  std::uint64_t disk_length() const;  // header + directory + stored payload
  // A range where writing a region failed: only its header means anything, and readers step over it.
  bool is_gap() const { return entries == 0; }
};

// A region with its payload decompressed, for readers and caches. Never changed once made.
struct Region {
  std::vector<RegionEntry> entries;  // sorted by id
  RawBuffer payload;
  // The start of the payload in `payload`: a raw region stays in the buffer that all of it was read to.
  std::uint32_t payload_begin = 0;

  const RegionEntry* find(ChunkId id) const;
  ByteSpan whole_payload() const { return ByteSpan(payload).subspan(payload_begin); }
  ByteSpan payload_of(const RegionEntry& entry) const {
    return whole_payload().subspan(entry.payload_offset, entry.payload_length);
  }
};

// The bytes of a region as they go to disk. Entries, at least one, are in order of payload; their payload_offset is
// ignored (back to back). Stored raw where compression saves less than 1/16.
std::string encode_region(const std::vector<RegionEntry>& entries, ByteSpan payload, const Compression& compression);
// The header of a gap of `disk_length` bytes, header included.
std::string encode_gap_header(std::uint64_t disk_length);

Result<RegionHeader> decode_region_header(ByteSpan bytes);  // kRegionHeaderBytes of them
// Entries in order of payload, with payload_offset filled in.
Result<std::vector<RegionEntry>> decode_region_directory(const RegionHeader& header, ByteSpan directory);
Result<RawBuffer> decode_region_payload(const RegionHeader& header, ByteSpan stored);
// The same of a payload that is stored raw and lies in `region` already: no copy is made.
Result<void> decode_region_payload_in_place(const RegionHeader& header, Region& region);
// Only its length and checksum.
Result<void> verify_stored_payload(const RegionHeader& header, ByteSpan stored);

}  // namespace dedupfs
