// Bytes that look random and are the same each time.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace dedupfs {

inline std::uint64_t splitmix64(std::uint64_t& state) {
  std::uint64_t z = state += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// Each at most `largest`. With all values, no compressor makes them smaller.
inline ByteBuffer random_bytes(std::size_t count, std::uint64_t seed, std::uint8_t largest = 255) {
  ByteBuffer bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(splitmix64(seed) % (largest + 1u));
  return bytes;
}

}  // namespace dedupfs
