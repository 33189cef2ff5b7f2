// 64 bytes in an AVX-512 register; the vocabulary is described in scan-inl.h.
#pragma once

#include "chunkers/simd/byte_vec_avx2.h"

namespace dedupfs::simd {
namespace {

struct ByteVec64 {
  static constexpr std::size_t kWidth = 64;
  __m512i v;

  static ByteVec64 load(const std::uint8_t* p) { return {_mm512_loadu_si512(p)}; }
  static ByteVec64 splat(std::uint8_t byte) { return {_mm512_set1_epi8(static_cast<char>(byte))}; }
  // Broadcasts under a mask need no shuffle. Insertions would need one.
  static ByteVec64 load_pieces(const std::uint8_t* p, std::size_t stride) {
    __m512i v = _mm512_castsi128_si512(ByteVec16::load(p).v);
    v = _mm512_mask_broadcast_i32x4(v, 0x00f0, ByteVec16::load(p + stride).v);
    v = _mm512_mask_broadcast_i32x4(v, 0x0f00, ByteVec16::load(p + 2 * stride).v);
    v = _mm512_mask_broadcast_i32x4(v, 0xf000, ByteVec16::load(p + 3 * stride).v);
    return {v};
  }

  class Table;  // of 256 bytes

  std::uint8_t largest() const {
    return ByteVec32{_mm256_max_epu8(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1))}.largest();
  }
  std::uint8_t smallest() const {
    return ByteVec32{_mm256_min_epu8(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1))}.smallest();
  }
};

class ByteVec64::Table {
 public:
  explicit Table(const std::uint8_t (&entries)[256]) {
    for (int i = 0; i < 4; ++i) quarter_[i] = _mm512_loadu_si512(entries + 64 * i);
  }
  ByteVec64 look_up(ByteVec64 index) const {
    const __m512i low = _mm512_permutex2var_epi8(quarter_[0], index.v, quarter_[1]);
    const __m512i high = _mm512_permutex2var_epi8(quarter_[2], index.v, quarter_[3]);
    return {_mm512_mask_blend_epi8(_mm512_movepi8_mask(index.v), low, high)};
  }

 private:
  __m512i quarter_[4];
};

inline ByteVec64 max(ByteVec64 a, ByteVec64 b) {
  return {_mm512_max_epu8(a.v, b.v)};
}

inline ByteVec64 min(ByteVec64 a, ByteVec64 b) {
  return {_mm512_min_epu8(a.v, b.v)};
}

inline ByteVec64 operator^(ByteVec64 a, ByteVec64 b) {
  return {_mm512_xor_si512(a.v, b.v)};
}

inline ByteVec64 operator&(ByteVec64 a, ByteVec64 b) {
  return {_mm512_and_si512(a.v, b.v)};
}

inline ByteVec64 operator|(ByteVec64 a, ByteVec64 b) {
  return {_mm512_or_si512(a.v, b.v)};
}

inline ByteVec64 rotated_left(ByteVec64 a) {
  return {_mm512_gf2p8affine_epi64_epi8(a.v, _mm512_set1_epi64(static_cast<long long>(0x8001020408102040)), 0)};
}

inline std::uint64_t eq_bits(ByteVec64 a, ByteVec64 b) {
  return _mm512_cmpeq_epu8_mask(a.v, b.v);
}

inline std::uint64_t gt_bits(ByteVec64 a, ByteVec64 b) {
  return _mm512_cmpgt_epu8_mask(a.v, b.v);
}

inline std::uint64_t ge_bits(ByteVec64 a, ByteVec64 b) {
  return _mm512_cmpge_epu8_mask(a.v, b.v);
}

inline ByteVec64 zip_low(ByteVec64 a, ByteVec64 b) {
  return {_mm512_unpacklo_epi8(a.v, b.v)};
}

inline ByteVec64 zip_high(ByteVec64 a, ByteVec64 b) {
  return {_mm512_unpackhi_epi8(a.v, b.v)};
}

// GFNI takes whole bytes.
inline ByteVec64 nibbles(ByteVec64 a) {
  return a;
}

inline ByteVec64 apply(const LinearMap& map, ByteVec64 a) {
  return {_mm512_gf2p8affine_epi64_epi8(a.v, _mm512_set1_epi64(static_cast<long long>(map.matrix)), 0)};
}

inline std::uint64_t disjoint_bits(ByteVec64 a, ByteVec64 b) {
  return _mm512_testn_epi8_mask(a.v, b.v);
}

inline ByteVec64 operator+(ByteVec64 a, ByteVec64 b) {
  return {_mm512_add_epi8(a.v, b.v)};
}

template <int kBits>
ByteVec64 shifted_up(ByteVec64 a) {
  // A byte is the vector of its bits; row i of the matrix makes bit 7 - i of the result.
  return {_mm512_gf2p8affine_epi64_epi8(a.v, _mm512_set1_epi64(0x0102040810204080 >> (8 * kBits)), 0)};
}

template <int kBytes>
ByteVec64 shift_in(ByteVec64 now, ByteVec64 before) {
  if constexpr (kBytes == 4) return {_mm512_alignr_epi32(now.v, before.v, 15)};
  // The instruction works within each 16 bytes. The bytes that come in are the last of the 16 bytes before.
  return {_mm512_alignr_epi8(now.v, _mm512_alignr_epi64(now.v, before.v, 6), 16 - kBytes)};
}

}  // namespace
}  // namespace dedupfs::simd
