// VectorCDC's two primitives in plain code: extreme byte search and range scan (Udayashankar, Baba, Al-Kiswany:
// "VectorCDC: accelerating data deduplication with vector instructions", FAST '25, section 4).
#pragma once

#include <cstddef>
#include <cstdint>

namespace dedupfs::reference {
namespace {

struct Above {
  static bool holds(std::uint8_t byte, std::uint8_t limit) { return byte > limit; }
};
struct AtLeast {
  static bool holds(std::uint8_t byte, std::uint8_t limit) { return byte >= limit; }
};
struct Below {
  static bool holds(std::uint8_t byte, std::uint8_t limit) { return byte < limit; }
};
struct AtMost {
  static bool holds(std::uint8_t byte, std::uint8_t limit) { return byte <= limit; }
};
struct Equal {
  static bool holds(std::uint8_t byte, std::uint8_t limit) { return byte == limit; }
};

template <class Comparison>
std::size_t first(const std::uint8_t* p, std::size_t n, std::uint8_t limit) {
  std::size_t i = 0;
  while (i < n && !Comparison::holds(p[i], limit)) ++i;
  return i;
}

// The byte that is Above all others, or Below.
template <class Comparison>
std::uint8_t extreme_byte(const std::uint8_t* p, std::size_t n) {
  std::uint8_t extreme = p[0];
  for (std::size_t i = 1; i < n; ++i)
    if (Comparison::holds(p[i], extreme)) extreme = p[i];
  return extreme;
}

}  // namespace
}  // namespace dedupfs::reference
