// Small regions for the tests of the store's lower half.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "store/format/region.h"
#include "support/random_bytes.h"

namespace dedupfs {

inline ByteBuffer text_bytes(std::size_t count) {
  ByteBuffer bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>("a rather dull text. "[i % 20]);
  return bytes;
}

// A payload and what stands in the directory about it.
struct SampleRegion {
  std::vector<RegionEntry> entries;
  ByteBuffer payload;

  SampleRegion& add(std::uint64_t id, const ByteBuffer& chunk) { return append(raw_entry(id, chunk), chunk); }
  SampleRegion& add_delta(std::uint64_t id, std::uint64_t base, std::uint32_t raw_length, const ByteBuffer& delta) {
    RegionEntry entry = raw_entry(id, delta);
    entry.sources = {ChunkId{base}};
    entry.depth = 1;
    entry.checksum = 0x01020304;
    entry.raw_length = raw_length;
    return append(entry, delta);
  }
  std::string encode(const Compression& compression = {}) const { return encode_region(entries, payload, compression); }

 private:
  static RegionEntry raw_entry(std::uint64_t id, const ByteBuffer& bytes) {
    RegionEntry entry;
    entry.id = ChunkId{id};
    entry.fingerprint.bytes.fill(static_cast<std::uint8_t>(id * 7 + 1));
    entry.raw_length = static_cast<std::uint32_t>(bytes.size());
    return entry;
  }
  SampleRegion& append(RegionEntry entry, const ByteBuffer& bytes) {
    entry.payload_offset = static_cast<std::uint32_t>(payload.size());
    entry.payload_length = static_cast<std::uint32_t>(bytes.size());
    entries.push_back(entry);
    payload.insert(payload.end(), bytes.begin(), bytes.end());
    return *this;
  }
};

// A region of one incompressible chunk.
inline SampleRegion one_chunk(std::uint64_t id, std::size_t bytes) {
  return SampleRegion().add(id, random_bytes(bytes, id));
}

}  // namespace dedupfs
