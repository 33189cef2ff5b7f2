// 32 bytes in an AVX register; the vocabulary is described in scan-inl.h.
#pragma once

#include "chunkers/simd/byte_vec_sse41.h"

namespace dedupfs::simd {
namespace {

struct ByteVec32 {
  static constexpr std::size_t kWidth = 32;
  __m256i v;

  static ByteVec32 load(const std::uint8_t* p) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))}; }
  static ByteVec32 splat(std::uint8_t byte) { return {_mm256_set1_epi8(static_cast<char>(byte))}; }
  static ByteVec32 load_pieces(const std::uint8_t* p, std::size_t stride) {
    return {_mm256_inserti128_si256(_mm256_castsi128_si256(ByteVec16::load(p).v), ByteVec16::load(p + stride).v, 1)};
  }
  static ByteVec32 repeat(const std::uint8_t (&piece)[16]) {
    return {_mm256_broadcastsi128_si256(ByteVec16::load(piece).v)};
  }

  class Table;  // of 256 bytes

  std::uint8_t largest() const {
    return ByteVec16{_mm_max_epu8(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1))}.largest();
  }
  std::uint8_t smallest() const {
    return ByteVec16{_mm_min_epu8(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1))}.smallest();
  }
};

class ByteVec32::Table {
 public:
  explicit Table(const std::uint8_t (&entries)[256]) : entries_(entries) {}

  ByteVec32 look_up(ByteVec32 index) const {
    // The table is sixteen rows of sixteen entries. Bits 4 to 7 of the index say which row. Each of these bits takes
    // one level of blends. This takes 35 instructions, and gear_low reaches 3.6 GB/s. To sum up the differences of
    // rows, with shuffles that give zero above the index, takes 48 instructions, and gear_low reaches 2.9 GB/s.
    const __m256i column = _mm256_and_si256(index.v, _mm256_set1_epi8(0x0f));
    __m256i found[16];
    for (int row = 0; row < 16; ++row) {
      const auto* entries = reinterpret_cast<const __m128i*>(entries_ + 16 * row);
      found[row] = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(entries)), column);
    }
    for (int i = 0; i < 8; ++i)
      found[i] = _mm256_blendv_epi8(found[2 * i], found[2 * i + 1], _mm256_slli_epi16(index.v, 3));
    for (int i = 0; i < 4; ++i)
      found[i] = _mm256_blendv_epi8(found[2 * i], found[2 * i + 1], _mm256_slli_epi16(index.v, 2));
    for (int i = 0; i < 2; ++i)
      found[i] = _mm256_blendv_epi8(found[2 * i], found[2 * i + 1], _mm256_slli_epi16(index.v, 1));
    return {_mm256_blendv_epi8(found[0], found[1], index.v)};
  }

 private:
  const std::uint8_t* entries_;
};

inline ByteVec32 max(ByteVec32 a, ByteVec32 b) {
  return {_mm256_max_epu8(a.v, b.v)};
}

inline ByteVec32 min(ByteVec32 a, ByteVec32 b) {
  return {_mm256_min_epu8(a.v, b.v)};
}

inline ByteVec32 operator^(ByteVec32 a, ByteVec32 b) {
  return {_mm256_xor_si256(a.v, b.v)};
}

inline ByteVec32 operator&(ByteVec32 a, ByteVec32 b) {
  return {_mm256_and_si256(a.v, b.v)};
}

inline ByteVec32 operator|(ByteVec32 a, ByteVec32 b) {
  return {_mm256_or_si256(a.v, b.v)};
}

inline ByteVec32 rotated_left(ByteVec32 a) {
  const __m256i top_bit = _mm256_cmpgt_epi8(_mm256_setzero_si256(), a.v);  // -1 where it is set
  return {_mm256_sub_epi8(_mm256_add_epi8(a.v, a.v), top_bit)};
}

inline std::uint64_t eq_bits(ByteVec32 a, ByteVec32 b) {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(a.v, b.v)));
}

inline std::uint64_t ge_bits(ByteVec32 a, ByteVec32 b) {
  return eq_bits(max(a, b), a);
}

inline std::uint64_t gt_bits(ByteVec32 a, ByteVec32 b) {
  return ~ge_bits(b, a) & 0xffffffff;
}

inline ByteVec32 zip_low(ByteVec32 a, ByteVec32 b) {
  return {_mm256_unpacklo_epi8(a.v, b.v)};
}

inline ByteVec32 zip_high(ByteVec32 a, ByteVec32 b) {
  return {_mm256_unpackhi_epi8(a.v, b.v)};
}

struct Nibbles32 {
  __m256i low, high;
};

inline Nibbles32 nibbles(ByteVec32 a) {
  const __m256i mask = _mm256_set1_epi8(15);
  return {_mm256_and_si256(a.v, mask), _mm256_and_si256(_mm256_srli_epi16(a.v, 4), mask)};
}

inline ByteVec32 apply(const LinearMap& map, Nibbles32 a) {
  return {_mm256_xor_si256(_mm256_shuffle_epi8(ByteVec32::repeat(map.of_low).v, a.low),
                           _mm256_shuffle_epi8(ByteVec32::repeat(map.of_high).v, a.high))};
}

inline std::uint64_t disjoint_bits(ByteVec32 a, ByteVec32 b) {
  return eq_bits({_mm256_and_si256(a.v, b.v)}, {_mm256_setzero_si256()});
}

inline ByteVec32 operator+(ByteVec32 a, ByteVec32 b) {
  return {_mm256_add_epi8(a.v, b.v)};
}

template <int kBits>
ByteVec32 shifted_up(ByteVec32 a) {
  return {_mm256_and_si256(_mm256_slli_epi16(a.v, kBits), _mm256_set1_epi8(static_cast<char>(0xff << kBits)))};
}

template <int kBytes>
ByteVec32 shift_in(ByteVec32 now, ByteVec32 before) {
  return {_mm256_alignr_epi8(now.v, _mm256_permute2x128_si256(before.v, now.v, 0x21), 16 - kBytes)};
}

}  // namespace
}  // namespace dedupfs::simd
