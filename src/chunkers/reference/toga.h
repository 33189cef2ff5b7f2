// The candidate scan of Toga in plain code (toga_hash.h).
#pragma once

#include "chunkers/kernels/kernels.h"
#include "chunkers/kernels/toga_hash.h"
#include "chunkers/reference/bits.h"

namespace dedupfs::reference {
namespace {

inline std::uint8_t rotated_left(std::uint8_t byte, unsigned count) {
  return static_cast<std::uint8_t>(byte << count | byte >> (8 - count));
}

inline void toga(const std::uint8_t* p, std::size_t n, std::uint64_t limit, std::uint64_t* bits) {
  if (n == 0) return;
  clear_bits(n, bits);
  std::uint8_t hashes[kTogaRowBytes] = {};  // that of byte i at i % 64
  const std::uint8_t* from = p - (kTogaRun - 1);
  for (std::size_t i = 0; i < kTogaRowBytes; ++i)
    for (unsigned row = 0; row < kTogaRows; ++row) hashes[i] ^= rotated_left(*(from + i - row * kTogaRowBytes), row);

  std::size_t run = 0;
  for (std::size_t i = 0; i < n + kTogaRun - 1; ++i) {
    std::uint8_t& hash = hashes[i % kTogaRowBytes];
    if (i >= kTogaRowBytes) {
      const std::uint8_t leaving = *(from + i - kTogaRows * kTogaRowBytes);
      hash = static_cast<std::uint8_t>(rotated_left(hash, 1) ^ leaving ^ from[i]);
    }
    run = hash >= limit ? run + 1 : 0;
    if (run >= kTogaRun) set_bit(i - (kTogaRun - 1), bits);
  }
}

}  // namespace
}  // namespace dedupfs::reference
