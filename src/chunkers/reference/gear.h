// The candidate scan of Gear in plain code (Xia, Jiang, Feng, Tian, Fu, Zhou: "Ddelta: a deduplication-inspired fast delta
// compression approach", Performance Evaluation 79, 2014, section 4.1).
//
// One hash is a chain of additions, each waiting for the one before; so the range is cut into two segments whose chains
// the CPU works on side by side. A segment warms up on the bytes in front of it, which gives every hash the value that
// a single chain would have there: 64 doublings shift all older bytes out.
//
// Candidates are rare, so a step of eight bytes only counts them, without a branch, and repeats itself where there are
// any. Zen 5, random data in cache, avg 16k: 3.9-4.2 GB/s wherever the compiler places the loop. A branch a byte
// gave 5.3 or 2.7 with four segments, by placement alone; one segment with a branch a byte 2.2 or 4.3.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chunkers/gear_table.h"
#include "chunkers/reference/bits.h"
#include "chunkers/simd/kernels.h"

namespace dedupfs::reference {
namespace {

// The definition. Byte 0 belongs to bit `first_bit`; bits of bytes that are no candidates are left alone.
// Not inlined: the loop of gear_segments() rarely needs it and is faster without it.
[[gnu::noinline]] void gear_chain(const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::size_t first_bit,
                                  std::uint64_t* bits) {
  std::uint64_t hash = 0;
  for (const std::uint8_t* before = p - simd::kGearLookBackBytes; before != p; ++before)
    hash = gear_step(hash, *before);
  for (std::size_t i = 0; i < n; ++i) {
    hash = gear_step(hash, p[i]);
    if ((hash & mask) == 0) set_bit(first_bit + i, bits);
  }
}

inline void gear_segments(const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
  constexpr std::size_t kSegments = 2, kStep = 8;
  const std::size_t length = n / (kSegments * kStep) * kStep;
  clear_bits(n, bits);

  std::uint64_t hash[kSegments] = {};
  for (const std::uint8_t* before = p - simd::kGearLookBackBytes; before != p; ++before)
    for (std::size_t s = 0; s < kSegments; ++s) hash[s] = gear_step(hash[s], before[s * length]);
  for (std::size_t i = 0; i < length; i += kStep) {
    unsigned candidates[kSegments] = {};
    for (std::size_t k = 0; k < kStep; ++k)
      for (std::size_t s = 0; s < kSegments; ++s) {
        hash[s] = gear_step(hash[s], p[s * length + i + k]);
        candidates[s] += (hash[s] & mask) == 0;
      }
    if ((candidates[0] | candidates[1]) != 0) [[unlikely]]
      for (std::size_t s = 0; s < kSegments; ++s) gear_chain(p + s * length + i, kStep, mask, s * length + i, bits);
  }
  gear_chain(p + kSegments * length, n - kSegments * length, mask, kSegments * length, bits);
}

}  // namespace
}  // namespace dedupfs::reference
