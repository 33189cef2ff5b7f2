// MAXP over any byte vector (the definition: reference/maxp.h).
#pragma once

#include "chunkers/reference/maxp.h"
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
  if (i == 0) return n;
  if (n >= Vec::kWidth) {  // the first vector of the range: its part that was seen already has no hits
    const std::uint64_t bits = hits(Vec::load(p));
    return bits == 0 ? n : 63 - static_cast<std::size_t>(__builtin_clzll(bits));
  }
  while (i > 0)
    if (p[--i] >= limit) return i;
  return n;
}

// The largest byte of 64, as a vector that holds it somewhere.
template <class Vec>
Vec max_of_64(const std::uint8_t* p) {
  if constexpr (Vec::kWidth == 64)
    return Vec::load(p);
  else if constexpr (Vec::kWidth == 32)
    return max(Vec::load(p), Vec::load(p + 32));
  else
    return FourVecs<Vec>::load(p).template outer<VecOrder<AtLeast>>();
}

// A local maximum shows by its right side: `window` bytes below its level. Wherever rows of 64 bytes begin, these bytes
// hold at least a certain number of whole rows. So a row is only asked whether it reaches the level. It is rare that so
// many rows in succession do not reach it. Then the code looks at single bytes. The CPU cannot predict the answers of
// the rows. So they are collected as bits, without a branch on each. From L2 on Zen 4 (random data, window 887,
// AVX-512): 37 GB/s; with a branch on each answer, 16.
template <class Vec>
std::size_t maxp(const std::uint8_t* p, std::size_t n, std::size_t window) {
  constexpr std::size_t kRow = 64;
  if (window < 2 * kRow - 1) return reference::maxp(p, n, window);
  if (n < 2 * window + 2) return 0;
  std::size_t quiet = (window - (kRow - 1)) / kRow;
  if (quiet > 64) quiet = 64;  // the bits of a word; the right side of a larger window is looked into more often
  const std::uint64_t all_quiet = ~std::uint64_t{0} >> (64 - quiet);
  const std::size_t candidates_end = n - window - 1;

  std::size_t begin = window;  // no byte before it can be a maximum
  while (begin < candidates_end) {
    // Only the last of the largest among window + 1 bytes can be a local maximum (Neubeck, Van Gool: "Efficient non-maximum
    // suppression", ICPR 2006).
    std::size_t length = window + 1;
    if (length > candidates_end - begin) length = candidates_end - begin;
    const std::uint8_t level = extreme_byte<Vec, AtLeast>(p + begin, length);
    const Vec bound = Vec::splat(level);
    // The rows begin behind a byte at the level. Each gives one bit of history: 1 if it is below the level.
    std::uint64_t history = 0;
    for (std::size_t row = begin + last_at_least<Vec>(p + begin, length, level) + 1;; row += kRow) {
      if (row + kRow > n) return 0;
      const Vec largest = max_of_64<Vec>(p + row);
      if (gt_bits(largest, bound) != 0) [[unlikely]] {
        begin = row + first_above<Vec>(p + row, kRow, level);
        break;
      }
      history = history + history + (ge_bits(largest, bound) == 0 ? 1 : 0);
      if ((~history & all_quiet) != 0) [[likely]]
        continue;

      // The row before the quiet rows, or the byte before the first row, holds the candidate.
      const std::size_t run_begin = row - (quiet - 1) * kRow;
      const std::size_t peak = run_begin - kRow + last_at_least<Vec>(p + run_begin - kRow, kRow, level);
      if (peak >= candidates_end) return 0;
      const std::size_t right_end = peak + window + 1;
      const std::size_t next = row + first<Vec, AtLeast>(p + row, right_end - row, level);
      if (next == right_end) {
        const std::size_t left = peak - window;
        if (left >= begin || first_above<Vec>(p + left, begin - left, level) == begin - left) return peak;
        begin = right_end;
        break;
      }
      if (p[next] > level) {
        begin = next;
        break;
      }
      row = next + 1 - kRow;  // for the loop to add
      history = 0;
    }
  }
  return 0;
}

}  // namespace
}  // namespace dedupfs::simd
