// AVX2: two segments a register; the vocabulary is described in odess_plus-inl.h.
#pragma once

#include "delta/simd/swpr_x86.h"

namespace dedupfs::resemblance {
namespace {

struct SwprRegister32 {
  static constexpr std::size_t kSegments = 2;
  static constexpr std::size_t kRegisters = 2;
  __m256i v;

  static SwprRegister32 zero() { return {_mm256_setzero_si256()}; }
  static SwprRegister32 load(const std::uint8_t* p, std::size_t length) {
    return {_mm256_inserti128_si256(_mm256_castsi128_si256(load_block(p)), load_block(p + length), 1)};
  }

  template <int kFirst>
  SwprRegister32 words() const {
    return {_mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(words_shuffle<kFirst>()))};
  }
  static constexpr std::size_t bit_of(std::size_t segment, std::size_t window) { return 16 * segment + window; }
  std::uint32_t largest() const {
    return largest_of(_mm_max_epu32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
  }
};

inline SwprRegister32 straddle(SwprRegister32 before, SwprRegister32 now) {
  return {_mm256_alignr_epi8(now.v, before.v, 13)};
}

inline SwprRegister32 rolled(SwprRegister32 fingerprints, SwprRegister32 words) {
  return {_mm256_add_epi32(_mm256_slli_epi32(fingerprints.v, 4), words.v)};
}

inline SwprRegister32 max(SwprRegister32 a, SwprRegister32 b) {
  return {_mm256_max_epu32(a.v, b.v)};
}

// A number is >= kBoundary if its seven highest bits are all set. Shifted down they are -1 then. Packing keeps -1 apart
// from all other values.
inline void store_sampled(const SwprRegister32 (&quads)[4], std::uint8_t* out) {
  __m256i top[4];
  for (int q = 0; q < 4; ++q) top[q] = _mm256_srai_epi32(quads[q].v, kBoundaryShift);
  const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(top[0], top[1]), _mm256_packs_epi32(top[2], top[3]));
  const int bits = _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(-1)));
  __builtin_memcpy(out, &bits, sizeof bits);
}

class SmallestLanes32 {
 public:
  void add(__m128i fingerprint) {
    const __m256i fingerprints = _mm256_broadcastd_epi32(fingerprint);
    for (int i = 0; i < 2; ++i) {
      const __m256i transforms = _mm256_add_epi32(_mm256_mullo_epi32(fingerprints, multiplier_[i]), addend_[i]);
      smallest_[i] = _mm256_min_epu32(smallest_[i], transforms);
    }
  }
  void write(std::uint64_t* features) const {
    auto* out = reinterpret_cast<__m256i*>(features);
    _mm256_storeu_si256(out, _mm256_cvtepu32_epi64(_mm256_castsi256_si128(smallest_[0])));
    _mm256_storeu_si256(out + 1, _mm256_cvtepu32_epi64(_mm256_extracti128_si256(smallest_[0], 1)));
    _mm256_storeu_si256(out + 2, _mm256_cvtepu32_epi64(_mm256_castsi256_si128(smallest_[1])));
  }

 private:
  static __m256i load(const std::uint32_t* p) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(p)); }

  const __m256i multiplier_[2] = {load(kTransforms.multiplier), load(kTransforms.multiplier + 8)};
  const __m256i addend_[2] = {load(kTransforms.addend), load(kTransforms.addend + 8)};
  __m256i smallest_[2] = {_mm256_set1_epi32(-1), _mm256_set1_epi32(-1)};
};

}  // namespace
}  // namespace dedupfs::resemblance
