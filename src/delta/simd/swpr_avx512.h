// AVX-512 with VBMI: four segments a register; the vocabulary is described in odess_plus-inl.h.
#pragma once

#include "delta/simd/swpr_x86.h"

namespace dedupfs::resemblance {
namespace {

struct SwprRegister64 {
  static constexpr std::size_t kSegments = 4;
  static constexpr std::size_t kRegisters = 2;
  __m512i v;

  static SwprRegister64 zero() { return {_mm512_setzero_si512()}; }
  static SwprRegister64 load(const std::uint8_t* p, std::size_t length) {
    const auto pair = [length](const std::uint8_t* q) {
      return _mm256_inserti128_si256(_mm256_castsi128_si256(load_block(q)), load_block(q + length), 1);
    };
    return {_mm512_inserti64x4(_mm512_castsi256_si512(pair(p)), pair(p + 2 * length), 1)};
  }

  template <int kFirst>
  SwprRegister64 words() const {
    return {_mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(words_shuffle<kFirst>()))};
  }
  static constexpr std::size_t bit_of(std::size_t segment, std::size_t window) {
    return window / 4 * 16 + 4 * segment + window % 4;
  }

  static std::size_t list_not_zero(std::uint64_t* words, std::size_t n, std::uint32_t* list) {
    _mm512_storeu_si512(words + n, _mm512_setzero_si512());
    __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; i += 8) {
      const __m512i eight = _mm512_loadu_si512(words + i);
      const __mmask8 set = _mm512_test_epi64_mask(eight, eight);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(list + count), _mm256_maskz_compress_epi32(set, index));
      count += static_cast<std::size_t>(__builtin_popcount(set));
      index = _mm256_add_epi32(index, _mm256_set1_epi32(8));
    }
    return count;
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

// "volatile" makes GCC store right to memory. By way of a general register it takes twice as long on Zen 4.
inline void store_sampled(const SwprRegister64 (&quads)[4], std::uint8_t* out) {
  using Bits [[gnu::may_alias]] = __mmask16;
  for (int q = 0; q < 4; ++q) {
    const __mmask16 bits = _mm512_cmpge_epu32_mask(quads[q].v, _mm512_set1_epi32(static_cast<int>(kBoundary)));
    *reinterpret_cast<volatile Bits*>(out + 2 * q) = bits;
  }
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
