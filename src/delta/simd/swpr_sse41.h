// SSE4.1: one segment a register; the vocabulary is described in odess_plus-inl.h.
#pragma once

#include "delta/simd/swpr_x86.h"

namespace dedupfs::resemblance {
namespace {

struct SwprRegister16 {
  static constexpr std::size_t kSegments = 1;
  static constexpr std::size_t kRegisters = 4;
  __m128i v;

  static SwprRegister16 zero() { return {_mm_setzero_si128()}; }
  static SwprRegister16 load(const std::uint8_t* p, std::size_t /*length*/) { return {load_block(p)}; }

  template <int kFirst>
  SwprRegister16 words() const {
    return {_mm_shuffle_epi8(v, words_shuffle<kFirst>())};
  }
  static constexpr std::size_t bit_of(std::size_t segment, std::size_t window) { return 16 * segment + window; }
  std::uint32_t largest() const { return largest_of(v); }
};

inline SwprRegister16 straddle(SwprRegister16 before, SwprRegister16 now) {
  return {_mm_alignr_epi8(now.v, before.v, 13)};
}

inline SwprRegister16 rolled(SwprRegister16 fingerprints, SwprRegister16 words) {
  return {_mm_add_epi32(_mm_slli_epi32(fingerprints.v, 4), words.v)};
}

inline SwprRegister16 max(SwprRegister16 a, SwprRegister16 b) {
  return {_mm_max_epu32(a.v, b.v)};
}

// A number is >= kBoundary if its seven highest bits are all set. Shifted down they are -1 then. Packing keeps -1 apart
// from all other values.
inline void store_sampled(const SwprRegister16 (&quads)[4], std::uint8_t* out) {
  __m128i top[4];
  for (int q = 0; q < 4; ++q) top[q] = _mm_srai_epi32(quads[q].v, kBoundaryShift);
  const __m128i bytes = _mm_packs_epi16(_mm_packs_epi32(top[0], top[1]), _mm_packs_epi32(top[2], top[3]));
  const auto bits = static_cast<std::uint16_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(-1))));
  __builtin_memcpy(out, &bits, sizeof bits);
}

class SmallestLanes16 {
 public:
  void add(__m128i fingerprint) {
    for (int i = 0; i < 3; ++i) {
      const __m128i transforms = _mm_add_epi32(_mm_mullo_epi32(fingerprint, multiplier_[i]), addend_[i]);
      smallest_[i] = _mm_min_epu32(smallest_[i], transforms);
    }
  }
  void write(std::uint64_t* features) const {
    for (int i = 0; i < 3; ++i) {
      auto* out = reinterpret_cast<__m128i*>(features + 4 * i);
      _mm_storeu_si128(out, _mm_cvtepu32_epi64(smallest_[i]));
      _mm_storeu_si128(out + 1, _mm_cvtepu32_epi64(_mm_srli_si128(smallest_[i], 8)));
    }
  }

 private:
  static __m128i load(const std::uint32_t* p) { return _mm_load_si128(reinterpret_cast<const __m128i*>(p)); }

  const __m128i multiplier_[3] = {load(kTransforms.multiplier), load(kTransforms.multiplier + 4),
                                  load(kTransforms.multiplier + 8)};
  const __m128i addend_[3] = {load(kTransforms.addend), load(kTransforms.addend + 4), load(kTransforms.addend + 8)};
  __m128i smallest_[3] = {_mm_set1_epi32(-1), _mm_set1_epi32(-1), _mm_set1_epi32(-1)};
};

}  // namespace
}  // namespace dedupfs::resemblance
