// MAXP over any byte vector (the definition: reference/maxp.h).
#pragma once

#include "chunkers/simd/scan-inl.h"

namespace dedupfs::simd {
namespace {

// The last byte of [p, p+n) that is >= limit, else n.
template <class Vec>
std::size_t last_at_least(const std::uint8_t* p, std::size_t n, std::uint8_t limit) {
  using Step = FourVecs<Vec>;
  const Vec bound = Vec::splat(limit);
  const auto hits = [bound](Vec v) { return ge_bits(v, bound); };
  std::size_t i = n;
  for (; i >= Step::kBytes; i -= Step::kBytes) {
    const Step step = Step::load(p + i - Step::kBytes);
    if (hits(step.template outer<VecOrder<AtLeast>>()) != 0) return i - Step::kBytes + step.last(hits);
  }
  for (; i >= Vec::kWidth; i -= Vec::kWidth)
    if (const std::uint64_t bits = hits(Vec::load(p + i - Vec::kWidth)); bits != 0)
      return i - Vec::kWidth + 63 - static_cast<std::size_t>(__builtin_clzll(bits));
  while (i > 0)
    if (p[--i] >= limit) return i;
  return n;
}

struct Peak {
  std::uint8_t byte;
  std::size_t at;
};

// The largest byte of [p, p+n) and where it is last.
template <class Vec>
Peak last_peak(const std::uint8_t* p, std::size_t n) {
  const std::size_t last = last_at_least<Vec>(p, n, 255);
  if (last != n) return {255, last};
  const std::uint8_t largest = extreme_byte<Vec, AtLeast>(p, n);
  return {largest, last_at_least<Vec>(p, n, largest)};
}

// Of window + 1 bytes in a row only the last of the largest can be a local maximum (Neubeck, Van Gool: "Efficient
// non-maximum suppression", ICPR 2006, in one dimension), whatever the ties.
template <class Vec>
std::size_t maxp(const std::uint8_t* p, std::size_t n, std::size_t window) {
  if (n < 2 * window + 2) return 0;
  const std::size_t candidates_end = n - window - 1;
  for (std::size_t begin = window; begin < candidates_end;) {
    std::size_t end = begin + window + 1;
    if (end > candidates_end) end = candidates_end;
    Peak peak = last_peak<Vec>(p + begin, end - begin);
    peak.at += begin;
    while (peak.byte == 255) {  // as large as can be: nothing in front of it matters, nor between it and its like
      const std::size_t next = last_at_least<Vec>(p + peak.at + 1, window, 255);
      if (next == window) return peak.at;
      peak.at += 1 + next;
      if (peak.at >= candidates_end) return 0;
    }
    const std::size_t left_begin = peak.at - window, right_end = peak.at + window + 1;
    const std::size_t larger = end + first<Vec, AtLeast>(p + end, right_end - end, peak.byte);
    if (larger == right_end && first_above<Vec>(p + left_begin, begin - left_begin, peak.byte) == begin - left_begin)
      return peak.at;
    begin = larger;
  }
  return 0;
}

}  // namespace
}  // namespace dedupfs::simd
