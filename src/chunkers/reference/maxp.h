// MAXP, the local maximum (Bjørner, Blass, Gurevich: "Content-dependent chunking for differential compression, the local
// maximum approach", Journal of Computer and System Sciences 76, 2010, section 4).
#pragma once

#include <cstddef>
#include <cstdint>

namespace dedupfs::reference {
namespace {

// The chunk ends in front of the first byte that is larger than the `window` bytes after it and not smaller than the
// `window` bytes before it. As in DedupBench, a byte that is not below the candidate takes its place, and when the
// candidate fails on its left side the search goes on behind its right side; n must exceed the right side by a byte.
inline std::size_t maxp(const std::uint8_t* p, std::size_t n, std::size_t window) {
  std::size_t candidate = window;
  while (candidate + window + 2 <= n) {
    std::size_t i = candidate + 1;
    while (i <= candidate + window && p[i] < p[candidate]) ++i;
    if (i <= candidate + window) {
      candidate = i;
      continue;
    }
    std::size_t before = candidate - window;
    while (before < candidate && p[before] <= p[candidate]) ++before;
    if (before == candidate) return candidate;
    candidate += window + 1;
  }
  return 0;
}

}  // namespace
}  // namespace dedupfs::reference
