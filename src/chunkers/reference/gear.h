// The candidate scan of Gear in plain code (Xia, Jiang, Feng, Tian, Fu, Zhou: "Ddelta: a deduplication-inspired fast delta
// compression approach", Performance Evaluation 79, 2014, section 4.1).
#pragma once

#include <cstddef>
#include <cstdint>

#include "chunkers/kernels/gear_table.h"
#include "chunkers/kernels/kernels.h"
#include "chunkers/reference/bits.h"

namespace dedupfs::reference {
namespace {

// Byte 0 belongs to bit `first_bit`; bits of bytes that are no candidates are left alone. A branch a byte, which is almost
// never taken: Zen 4, random data in cache 3.1 GB/s; two chains side by side that count candidates without it 2.3 (but
// on Zen 5 3.9 to 4.2, and the branch 2.2 or 4.3, by the loop's place).
inline void gear_chain(const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::size_t first_bit,
                       std::uint64_t* bits) {
  std::uint64_t hash = 0;
  for (const std::uint8_t* before = p - simd::kGearLookBackBytes; before != p; ++before)
    hash = gear_step(hash, *before);
  for (std::size_t i = 0; i < n; ++i) {
    hash = gear_step(hash, p[i]);
    if ((hash & mask) == 0) [[unlikely]]
      set_bit(first_bit + i, bits);
  }
}

inline void gear(const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
  clear_bits(n, bits);
  gear_chain(p, n, mask, 0, bits);
}

}  // namespace
}  // namespace dedupfs::reference
