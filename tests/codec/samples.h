// Bytes for the tests of codecs.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "base/bytes.h"

namespace dedupfs {

inline ByteBuffer noise(std::size_t count, std::uint64_t seed = 1) {
  std::mt19937_64 generator(seed);
  ByteBuffer bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(generator());
  return bytes;
}

// Lines, all different, that compress well, and better at higher levels.
inline ByteBuffer lines(std::size_t count, std::uint64_t seed = 1) {
  std::mt19937_64 generator(seed);
  ByteBuffer bytes;
  while (bytes.size() < count) {
    for (const char character : "the value of item " + std::to_string(generator() % 100'000) + " is " +
                                    std::to_string(generator() % 1000) + ";\n")
      bytes.push_back(static_cast<std::uint8_t>(character));
  }
  bytes.resize(count);
  return bytes;
}

}  // namespace dedupfs
