// The two VectorCDC primitives over any byte vector. Included once by each kernels_ISA.cc, behind its byte_vec_ISA.h.
//
// A ByteVec has:
//
// - kWidth, load (unaligned), splat, max, min, largest and smallest (horizontal),
// - eq_bits, ge_bits and gt_bits (unsigned; lane 0 in bit 0), ^, & and |, rotated_left (each byte by one bit),
// - for linear hashes: load_pieces (16 bytes each from p, p + stride and so on), zip_low and zip_high (which interleave the
//   lower, or upper, eight lanes of each 16 of two vectors) and apply (a LinearMap of every lane of a vector v, which it takes as
//   nibbles(v)),
// - if it has gear_low: +, shifted_up<k> (each byte by k bits), shift_in<k>(now, before) (all bytes k lanes up, from behind those
//   of `before`), disjoint_bits (of lanes that have no bit in common), and a Table of 256 bytes with look_up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chunkers/reference/range_scan.h"

namespace dedupfs::simd {
namespace {

using reference::Above;
using reference::AtLeast;
using reference::AtMost;
using reference::Below;
using reference::Equal;

// ---- What a comparison is on vectors.

template <class Comparison>
struct VecOrder;

template <>
struct VecOrder<AtLeast> {
  static constexpr std::uint8_t kOutermost = 255;
  template <class Vec>
  static Vec outer(Vec a, Vec b) {
    return max(a, b);
  }
  template <class Vec>
  static std::uint8_t outermost(Vec v) {
    return v.largest();
  }
  template <class Vec>
  static std::uint64_t bits(Vec v, Vec limit) {
    return ge_bits(v, limit);
  }
};

template <>
struct VecOrder<AtMost> {
  static constexpr std::uint8_t kOutermost = 0;
  template <class Vec>
  static Vec outer(Vec a, Vec b) {
    return min(a, b);
  }
  template <class Vec>
  static std::uint8_t outermost(Vec v) {
    return v.smallest();
  }
  template <class Vec>
  static std::uint64_t bits(Vec v, Vec limit) {
    return ge_bits(limit, v);
  }
};

// ---- Four registers, the step of every loop.

template <class Vec>
struct FourVecs {
  static constexpr std::size_t kBytes = 4 * Vec::kWidth;
  Vec v[4];

  static FourVecs load(const std::uint8_t* p) {
    return {Vec::load(p), Vec::load(p + Vec::kWidth), Vec::load(p + 2 * Vec::kWidth), Vec::load(p + 3 * Vec::kWidth)};
  }
  template <class Order>
  Vec outer() const {
    return Order::outer(Order::outer(v[0], v[1]), Order::outer(v[2], v[3]));
  }

  // The bits of each word of 64 bytes.
  static constexpr std::size_t kWords = kBytes / 64;
  template <class Bits>
  std::uint64_t word(std::size_t i, Bits bits_of) const {
    constexpr std::size_t kVecs = 64 / Vec::kWidth;
    std::uint64_t bits = 0;
    for (std::size_t k = 0; k < kVecs; ++k) bits |= bits_of(v[i * kVecs + k]) << (k * Vec::kWidth);
    return bits;
  }

  // The position of the first or last bit, if there is one. Without branches, which the CPU could not predict.
  template <class Bits>
  std::size_t first(Bits bits_of) const {
    std::size_t at = 0;
    std::uint64_t found = 0;
    for (std::size_t i = kWords; i-- > 0;) {
      const std::uint64_t bits = word(i, bits_of);
      at = bits != 0 ? 64 * i : at;
      found = bits != 0 ? bits : found;
    }
    return at + static_cast<std::size_t>(__builtin_ctzll(found));
  }
  template <class Bits>
  std::size_t last(Bits bits_of) const {
    std::size_t at = 0;
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < kWords; ++i) {
      const std::uint64_t bits = word(i, bits_of);
      at = bits != 0 ? 64 * i : at;
      found = bits != 0 ? bits : found;
    }
    return at + 63 - static_cast<std::size_t>(__builtin_clzll(found));
  }
};

// ---- Extreme byte search.

// The largest byte with AtLeast, the smallest with AtMost. A byte that nothing can exceed ends the search. Random data
// has one within a KiB. The code looks for it once a block. That costs nothing if there is none. If there is one, it is
// nearly always in the first block, and the branch prediction learns that.
template <class Vec, class Comparison>
std::uint8_t extreme_byte(const std::uint8_t* p, std::size_t n) {
  using Order = VecOrder<Comparison>;
  using Step = FourVecs<Vec>;
  constexpr std::size_t kBlock = 1024;
  // Within a window nothing is fetched ahead: the hardware foresees a window that is read from end to end. With 8 KiB
  // fetched ahead, the window of RAM on random bytes below 255 took 0.74 of the read limit instead of 0.82 to 0.95 (Zen
  // 4, DRAM, AVX2, window 7936). But the hardware cannot foresee the bytes behind a window that was left early. So
  // these are fetched: 1.2 of the read limit (AVX-512), 1.0 without this.
  constexpr std::size_t kFetchAfterSkip = 1536;
  if (n < Vec::kWidth) {
    std::uint8_t extreme = p[0];
    for (std::size_t i = 1; i < n; ++i)
      if (Comparison::holds(p[i], extreme)) extreme = p[i];
    return extreme;
  }
  // The vector that ends with the range covers the rest after the last whole vector.
  Vec all = Vec::load(p + n - Vec::kWidth);
  Step sides = {{all, all, all, all}};
  const auto add_step = [&sides](const std::uint8_t* bytes) {
    const Step step = Step::load(bytes);
    for (int k = 0; k < 4; ++k) sides.v[k] = Order::outer(sides.v[k], step.v[k]);
  };
  const Vec outermost = Vec::splat(Order::kOutermost);
  std::size_t i = 0;
  while (i + kBlock <= n) {
    for (const std::size_t end = i + kBlock; i < end; i += Step::kBytes) add_step(p + i);
    if (eq_bits(sides.template outer<Order>(), outermost) != 0) {
      for (std::size_t line = 0; line < kFetchAfterSkip; line += 64) __builtin_prefetch(p + n + line);
      return Order::kOutermost;
    }
  }
  for (; i + Step::kBytes <= n; i += Step::kBytes) add_step(p + i);
  all = sides.template outer<Order>();
  for (; i + Vec::kWidth <= n; i += Vec::kWidth) all = Order::outer(all, Vec::load(p + i));
  return Order::outermost(all);
}

// ---- Range scan.

template <class Vec, class Comparison>
std::size_t first(const std::uint8_t* p, std::size_t n, std::uint8_t limit) {
  using Order = VecOrder<Comparison>;
  using Step = FourVecs<Vec>;
  const Vec bound = Vec::splat(limit);
  const auto hits = [bound](Vec v) { return Order::bits(v, bound); };
  std::size_t i = 0;
  for (; i + Step::kBytes <= n; i += Step::kBytes) {
    const Step step = Step::load(p + i);
    if (hits(step.template outer<Order>()) != 0) return i + step.first(hits);
  }
  for (; i + Vec::kWidth <= n; i += Vec::kWidth)
    if (const std::uint64_t bits = hits(Vec::load(p + i)); bits != 0)
      return i + static_cast<std::size_t>(__builtin_ctzll(bits));
  if (i == n) return n;
  if (n >= Vec::kWidth) {  // the vector that ends with the range: its part that was seen already has no hits
    const std::uint64_t bits = hits(Vec::load(p + n - Vec::kWidth));
    return bits == 0 ? n : n - Vec::kWidth + static_cast<std::size_t>(__builtin_ctzll(bits));
  }
  while (i < n && !Comparison::holds(p[i], limit)) ++i;
  return i;
}

template <class Vec>
std::size_t first_above(const std::uint8_t* p, std::size_t n, std::uint8_t limit) {
  return limit == 255 ? n : first<Vec, AtLeast>(p, n, static_cast<std::uint8_t>(limit + 1));
}

template <class Vec>
std::size_t first_below(const std::uint8_t* p, std::size_t n, std::uint8_t limit) {
  return limit == 0 ? n : first<Vec, AtMost>(p, n, static_cast<std::uint8_t>(limit - 1));
}

template <class Vec>
std::size_t first_equal(const std::uint8_t* p, std::size_t n, std::uint8_t limit) {
  const Vec wanted = Vec::splat(limit);
  std::size_t i = 0;
  for (; i + Vec::kWidth <= n; i += Vec::kWidth)
    if (const std::uint64_t bits = eq_bits(Vec::load(p + i), wanted); bits != 0)
      return i + static_cast<std::size_t>(__builtin_ctzll(bits));
  while (i < n && p[i] != limit) ++i;
  return i;
}

}  // namespace
}  // namespace dedupfs::simd
