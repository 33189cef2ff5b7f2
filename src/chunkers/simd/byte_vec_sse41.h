// 16 bytes in an SSE register; the vocabulary is described in scan-inl.h.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "chunkers/simd/linear_map.h"

namespace dedupfs::simd {
namespace {

struct ByteVec16 {
  static constexpr std::size_t kWidth = 16;
  __m128i v;

  static ByteVec16 load(const std::uint8_t* p) { return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))}; }
  static ByteVec16 splat(std::uint8_t byte) { return {_mm_set1_epi8(static_cast<char>(byte))}; }
  static ByteVec16 load_pieces(const std::uint8_t* p, std::size_t) { return load(p); }

  std::uint8_t largest() const {
    // phminposuw finds the smallest of eight words. smallest() makes each word from a pair of bytes.
    return static_cast<std::uint8_t>(~ByteVec16{_mm_xor_si128(v, _mm_set1_epi8(-1))}.smallest());
  }
  std::uint8_t smallest() const {
    const __m128i pairs = _mm_min_epu8(v, _mm_srli_epi16(v, 8));
    return static_cast<std::uint8_t>(_mm_cvtsi128_si32(_mm_minpos_epu16(pairs)));
  }
};

inline ByteVec16 max(ByteVec16 a, ByteVec16 b) {
  return {_mm_max_epu8(a.v, b.v)};
}

inline ByteVec16 min(ByteVec16 a, ByteVec16 b) {
  return {_mm_min_epu8(a.v, b.v)};
}

inline ByteVec16 operator^(ByteVec16 a, ByteVec16 b) {
  return {_mm_xor_si128(a.v, b.v)};
}

inline ByteVec16 operator&(ByteVec16 a, ByteVec16 b) {
  return {_mm_and_si128(a.v, b.v)};
}

inline ByteVec16 operator|(ByteVec16 a, ByteVec16 b) {
  return {_mm_or_si128(a.v, b.v)};
}

inline ByteVec16 rotated_left(ByteVec16 a) {
  const __m128i top_bit = _mm_cmpgt_epi8(_mm_setzero_si128(), a.v);  // -1 where it is set
  return {_mm_sub_epi8(_mm_add_epi8(a.v, a.v), top_bit)};
}

inline std::uint64_t eq_bits(ByteVec16 a, ByteVec16 b) {
  return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(a.v, b.v)));
}

inline std::uint64_t ge_bits(ByteVec16 a, ByteVec16 b) {
  return eq_bits(max(a, b), a);
}

inline std::uint64_t gt_bits(ByteVec16 a, ByteVec16 b) {
  return ~ge_bits(b, a) & 0xffff;
}

inline ByteVec16 zip_low(ByteVec16 a, ByteVec16 b) {
  return {_mm_unpacklo_epi8(a.v, b.v)};
}

inline ByteVec16 zip_high(ByteVec16 a, ByteVec16 b) {
  return {_mm_unpackhi_epi8(a.v, b.v)};
}

struct Nibbles16 {
  __m128i low, high;
};

inline Nibbles16 nibbles(ByteVec16 a) {
  const __m128i mask = _mm_set1_epi8(15);
  return {_mm_and_si128(a.v, mask), _mm_and_si128(_mm_srli_epi16(a.v, 4), mask)};
}

inline ByteVec16 apply(const LinearMap& map, Nibbles16 a) {
  return {_mm_xor_si128(_mm_shuffle_epi8(ByteVec16::load(map.of_low).v, a.low),
                        _mm_shuffle_epi8(ByteVec16::load(map.of_high).v, a.high))};
}

}  // namespace
}  // namespace dedupfs::simd
