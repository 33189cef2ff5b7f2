// AE over any byte vector (the definition: reference/ae.h).
#pragma once

#include "chunkers/kernels/kernels.h"
#include "chunkers/simd/scan-inl.h"

namespace dedupfs::simd {
namespace {

// No chunk ends within the first window. So the target there is the first of its most extreme bytes. The targets before
// it do not matter. They are many at the start of a chunk, and each would be a branch that the CPU cannot predict.
template <class Vec, class Comparison, RangeScan first_beyond>
std::size_t ae(const std::uint8_t* p, std::size_t n, std::size_t window) {
  if (n <= window) return 0;
  std::uint8_t extreme = extreme_byte<Vec, Comparison>(p, window);
  std::size_t target = first<Vec, Comparison>(p, window, extreme);
  // The next bytes lie behind the window, and nothing has read there yet. So fetch them. Linux tars from DRAM (Zen 4,
  // AVX-512): 20.6 GB/s without, 23.3 with. If the search for the extreme byte ended early, it has fetched them.
  constexpr std::size_t kFetchAhead = 1536;
  if (extreme != VecOrder<Comparison>::kOutermost)
    for (std::size_t line = 0; line < kFetchAhead; line += 64) __builtin_prefetch(p + window + line);
  std::size_t seen = window;
  while (target + window < n) {
    const std::size_t end = target + window;
    // At least as many bytes as a vector has. Those in front of `seen` do not go beyond the extreme.
    const std::size_t from = seen + 64 <= end + 1 ? seen : end + 1 - 64;
    target = from + first_beyond(p + from, end + 1 - from, extreme);
    if (target > end) return end;
    extreme = p[target];
    seen = target + 1;
  }
  return 0;
}

template <class Vec>
std::size_t ae_max(const std::uint8_t* p, std::size_t n, std::size_t window) {
  return ae<Vec, AtLeast, first_above<Vec>>(p, n, window);
}

template <class Vec>
std::size_t ae_min(const std::uint8_t* p, std::size_t n, std::size_t window) {
  return ae<Vec, AtMost, first_below<Vec>>(p, n, window);
}

}  // namespace
}  // namespace dedupfs::simd
