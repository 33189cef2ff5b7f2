// RAM over any byte vector (the definition: reference/ram.h).
#pragma once

#include "chunkers/simd/scan-inl.h"

namespace dedupfs::simd {
namespace {

template <class Vec>
std::size_t ram(const std::uint8_t* p, std::size_t n, std::size_t window) {
  if (n <= window) return 0;
  const std::uint8_t largest = extreme_byte<Vec, AtLeast>(p, window);
  const std::size_t end = window + first<Vec, AtLeast>(p + window, n - window, largest);
  return end < n ? end : 0;
}

}  // namespace
}  // namespace dedupfs::simd
