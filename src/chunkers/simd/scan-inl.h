// The two VectorCDC primitives over any byte vector. Included once by each kernels_ISA.cc, behind its byte_vec_ISA.h.
//
// A ByteVec has kWidth, load (unaligned), splat, max, min, largest and smallest (horizontal), and eq_bits, ge_bits and
// gt_bits (unsigned; lane 0 in bit 0).
#pragma once

#include <cstddef>
#include <cstdint>

namespace dedupfs::simd {
namespace {

// How far ahead of the search memory is fetched. The range scan ends at an unforeseen place, and the pipeline restarts
// there: the next chunk's bytes should be on their way by then. From DRAM on Zen 5 (read limit 45 GB/s, window 8k,
// AVX-512): without 29 GB/s, 1024 34, 4096 38, 8192 41; in cache no difference.
constexpr std::size_t kFetchAheadBytes = 8192;

// Four registers, so that the maxima of one step do not wait for those of the step before.
template <class Vec>
std::uint8_t max_byte(const std::uint8_t* p, std::size_t n) {
  constexpr std::size_t kStep = 4 * Vec::kWidth;
  if (n < Vec::kWidth) {
    std::uint8_t largest = 0;
    for (std::size_t i = 0; i < n; ++i) largest = p[i] > largest ? p[i] : largest;
    return largest;
  }
  // What is left after the last whole vector is covered by the vector that ends with the range.
  Vec a = Vec::load(p + n - Vec::kWidth), b = a, c = a, d = a;
  std::size_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    for (std::size_t line = 0; line < kStep; line += 64) __builtin_prefetch(p + i + kFetchAheadBytes + line);
    a = max(a, Vec::load(p + i));
    b = max(b, Vec::load(p + i + Vec::kWidth));
    c = max(c, Vec::load(p + i + 2 * Vec::kWidth));
    d = max(d, Vec::load(p + i + 3 * Vec::kWidth));
  }
  for (; i + Vec::kWidth <= n; i += Vec::kWidth) a = max(a, Vec::load(p + i));
  return max(max(a, b), max(c, d)).largest();
}

template <class Vec>
std::size_t first_at_least(const std::uint8_t* p, std::size_t n, std::uint8_t limit) {
  constexpr std::size_t kStep = 2 * Vec::kWidth;
  const Vec bound = Vec::splat(limit);
  std::size_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    const std::uint64_t low = ge_bits(Vec::load(p + i), bound);
    const std::uint64_t high = ge_bits(Vec::load(p + i + Vec::kWidth), bound);
    if ((low | high) != 0) {
      const std::uint64_t hits = low != 0 ? low : high;
      return i + (low != 0 ? 0 : Vec::kWidth) + static_cast<std::size_t>(__builtin_ctzll(hits));
    }
  }
  for (; i < n; ++i)
    if (p[i] >= limit) return i;
  return n;
}

template <class Vec>
std::size_t ram(const std::uint8_t* p, std::size_t n, std::size_t window) {
  if (n <= window) return 0;
  const std::size_t end = window + first_at_least<Vec>(p + window, n - window, max_byte<Vec>(p, window));
  return end < n ? end : 0;
}

}  // namespace
}  // namespace dedupfs::simd
