// AVX-512 with VBMI: four segments a register; the vocabulary is described in odess_plus-inl.h.
#pragma once

#include "delta/simd/swpr_x86.h"

namespace dedupfs::resemblance {
namespace {

struct SwprRegister64 {
  static constexpr std::size_t kSegments = 4;
  __m512i v;

  static SwprRegister64 zero() { return {_mm512_setzero_si512()}; }
  static SwprRegister64 load(const std::uint8_t* const* p, std::ptrdiff_t at) {
    __m512i all = _mm512_castsi128_si512(load_block(p[0] + at));
    all = _mm512_mask_broadcast_i32x4(all, 0x00f0, load_block(p[1] + at));
    all = _mm512_mask_broadcast_i32x4(all, 0x0f00, load_block(p[2] + at));
    return {_mm512_mask_broadcast_i32x4(all, 0xf000, load_block(p[3] + at))};
  }

  template <int kFirst>
  SwprRegister64 words() const {
    return {_mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(words_shuffle<kFirst>()))};
  }
  std::uint32_t largest() const { return _mm512_reduce_max_epu32(v); }
};

inline SwprRegister64 straddle(SwprRegister64 before, SwprRegister64 now) {
  return {_mm512_alignr_epi8(now.v, before.v, 13)};
}

inline SwprRegister64 rolled(SwprRegister64 fingerprints, SwprRegister64 words) {
  return {_mm512_add_epi32(_mm512_slli_epi32(fingerprints.v, 4), words.v)};
}

inline SwprRegister64 max(SwprRegister64 a, SwprRegister64 b) {
  return {_mm512_max_epu32(a.v, b.v)};
}

// The top bytes of all numbers are brought together, so that one comparison serves 64 of them.
inline std::uint64_t sampled(const SwprRegister64 (&quads)[4]) {
  // Byte 16 s + 4 q + k: the top one of number 4 s + k in register q % 2.
  const __m512i kTopBytes =
      _mm512_setr_epi32(0x0f0b0703, 0x4f4b4743, 0x0f0b0703, 0x4f4b4743, 0x1f1b1713, 0x5f5b5753, 0x1f1b1713, 0x5f5b5753,
                        0x2f2b2723, 0x6f6b6763, 0x2f2b2723, 0x6f6b6763, 0x3f3b3733, 0x7f7b7773, 0x3f3b3733, 0x7f7b7773);
  const __m512i first = _mm512_permutex2var_epi8(quads[0].v, kTopBytes, quads[1].v);
  const __m512i second = _mm512_permutex2var_epi8(quads[2].v, kTopBytes, quads[3].v);
  const __m512i top = _mm512_mask_blend_epi64(0xaa, first, second);
  return _mm512_cmpge_epu8_mask(top, _mm512_set1_epi8(static_cast<char>(kBoundary >> 24)));
}

class SmallestLanes64 {
 public:
  void add(__m128i fingerprint) {
    const __m512i product = _mm512_mullo_epi32(_mm512_broadcastd_epi32(fingerprint), multiplier_);
    smallest_ = _mm512_min_epu32(smallest_, _mm512_add_epi32(product, addend_));
  }
  void write(std::uint64_t* features) const {
    _mm512_storeu_si512(features, _mm512_cvtepu32_epi64(_mm512_castsi512_si256(smallest_)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(features + 8),
                        _mm256_cvtepu32_epi64(_mm512_extracti32x4_epi32(smallest_, 2)));
  }

 private:
  const __m512i multiplier_ = _mm512_load_si512(kTransforms.multiplier);
  const __m512i addend_ = _mm512_load_si512(kTransforms.addend);
  __m512i smallest_ = _mm512_set1_epi32(-1);
};

}  // namespace
}  // namespace dedupfs::resemblance
