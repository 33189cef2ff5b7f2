// Setting bits in the bitmaps of candidate scans.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dedupfs::reference {
namespace {

// The size of the first n bits, in whole words.
inline void clear_bits(std::size_t n, std::uint64_t* bits) {
  for (std::size_t word = 0; word < (n + 63) / 64; ++word) bits[word] = 0;
}

inline void set_bit(std::size_t at, std::uint64_t* bits) {
  bits[at / 64] |= std::uint64_t{1} << (at % 64);
}

}  // namespace
}  // namespace dedupfs::reference
