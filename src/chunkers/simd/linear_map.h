// Maps from byte to byte that are linear over GF(2): map(a ^ b) = map(a) ^ map(b). In the forms that the instruction sets
// apply to all bytes of a vector.
#pragma once

#include <cstdint>

namespace dedupfs::simd {

struct LinearMap {
  alignas(16) std::uint8_t of_low[16];   // the images of the low nibbles, for shuffles
  alignas(16) std::uint8_t of_high[16];  // of the high ones
  std::uint64_t matrix;                  // as GF2P8AFFINEQB takes it: byte 7 - i has the bits of which bit i is the sum
};

// image_of(byte) gives the image of a byte in its lowest eight bits.
template <class Image>
consteval LinearMap make_linear_map(Image image_of) {
  LinearMap map{};
  const auto image = [&](unsigned byte) { return static_cast<std::uint8_t>(image_of(byte)); };
  for (unsigned i = 0; i < 16; ++i) {
    map.of_low[i] = image(i);
    map.of_high[i] = image(i << 4);
  }
  for (unsigned from = 0; from < 8; ++from)
    for (unsigned to = 0; to < 8; ++to)
      if ((image(1u << from) >> to & 1) != 0) map.matrix |= std::uint64_t{1} << (8 * (7 - to) + from);
  return map;
}

}  // namespace dedupfs::simd
