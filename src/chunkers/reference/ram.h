// RAM, the rapid asymmetric maximum (Widodo, Lim, Atiquzzaman: "A new content-defined chunking algorithm for data
// deduplication in cloud storage", Future Generation Computer Systems 71, 2017, section 3).
#pragma once

#include "chunkers/reference/range_scan.h"

namespace dedupfs::reference {
namespace {

// The chunk ends in front of the first byte behind the window that is not below the window's largest.
inline std::size_t ram(const std::uint8_t* p, std::size_t n, std::size_t window) {
  if (n <= window) return 0;
  const std::uint8_t largest = extreme_byte<Above>(p, window);
  const std::size_t end = window + first<AtLeast>(p + window, n - window, largest);
  return end < n ? end : 0;
}

}  // namespace
}  // namespace dedupfs::reference
