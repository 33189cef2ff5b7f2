// The small value types that the store, and those above it, speak in.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#include "base/bytes.h"

namespace dedupfs {

// Names a chunk for good: dense, in order of creation, never reused. A recipe refers to chunks by it, so a chunk can
// move.
enum class ChunkId : std::uint64_t {};

constexpr std::uint64_t number_of(ChunkId id) {
  return static_cast<std::uint64_t>(id);
}

// SHA-256 of a chunk's bytes: its identity for deduplication.
struct Fingerprint {
  std::array<std::uint8_t, 32> bytes{};

  auto operator<=>(const Fingerprint&) const = default;
  std::string hex() const;
};

// A chunk as recipes know it. `length` is always the length of the whole chunk.
struct ChunkRef {
  ChunkId id{};
  std::uint32_t length = 0;

  bool operator==(const ChunkRef&) const = default;
};

// The place of a region: the container file and the offset of the region's header in it.
struct RegionPlace {
  std::uint32_t container = 0;
  std::uint32_t offset = 0;

  auto operator<=>(const RegionPlace&) const = default;
};

// A region as those know it who have been told its length. The length comes from an index: a hint, which readers check.
struct RegionRange {
  RegionPlace place;
  std::uint32_t disk_bytes = 0;  // header, directory and payload as stored; 0: not known

  bool operator==(const RegionRange&) const = default;
};

}  // namespace dedupfs

template <>
struct std::hash<dedupfs::Fingerprint> {
  // A fingerprint is uniformly distributed already.
  std::size_t operator()(const dedupfs::Fingerprint& fingerprint) const {
    std::size_t value;
    std::memcpy(&value, fingerprint.bytes.data(), sizeof value);
    return value;
  }
};

template <>
struct std::hash<dedupfs::RegionPlace> {
  std::size_t operator()(const dedupfs::RegionPlace& place) const {
    return std::hash<std::uint64_t>()(std::uint64_t{place.container} << 32 | place.offset);
  }
};
