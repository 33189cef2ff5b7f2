// NEON: one segment a register; the vocabulary is described in odess_plus-inl.h.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "delta/reference/feature_definition.h"

namespace dedupfs::resemblance {
namespace {

struct SwprRegister16 {
  static constexpr std::size_t kSegments = 1;
  static constexpr std::size_t kRegisters = 4;
  uint32x4_t v;

  static SwprRegister16 zero() { return {vdupq_n_u32(0)}; }
  static SwprRegister16 load(const std::uint8_t* p, std::size_t /*length*/) {
    return {vreinterpretq_u32_u8(vld1q_u8(p))};
  }

  template <int kFirst>
  SwprRegister16 words() const {
    constexpr std::uint8_t f = kFirst;
    const uint8x16_t shuffle = {f + 3, f + 2, f + 1, f,     f + 4, f + 3, f + 2, f + 1,
                                f + 5, f + 4, f + 3, f + 2, f + 6, f + 5, f + 4, f + 3};
    return {vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(v), shuffle))};
  }
  static constexpr std::size_t bit_of(std::size_t segment, std::size_t window) { return 16 * segment + window; }
  std::uint32_t largest() const { return vmaxvq_u32(v); }
};

inline SwprRegister16 straddle(SwprRegister16 before, SwprRegister16 now) {
  return {vreinterpretq_u32_u8(vextq_u8(vreinterpretq_u8_u32(before.v), vreinterpretq_u8_u32(now.v), 13))};
}

inline SwprRegister16 rolled(SwprRegister16 fingerprints, SwprRegister16 words) {
  return {vaddq_u32(vshlq_n_u32(fingerprints.v, 4), words.v)};
}

inline SwprRegister16 max(SwprRegister16 a, SwprRegister16 b) {
  return {vmaxq_u32(a.v, b.v)};
}

// A bit for each lane of the comparisons. Three rounds of pairwise sums collect eight lanes in a byte.
inline void store_sampled(const SwprRegister16 (&quads)[4], std::uint8_t* out) {
  const auto halves = [](SwprRegister16 a, SwprRegister16 b) {
    const uint32x4_t boundary = vdupq_n_u32(kBoundary);
    return vreinterpretq_u8_u16(
        vuzp1q_u16(vreinterpretq_u16_u32(vcgeq_u32(a.v, boundary)), vreinterpretq_u16_u32(vcgeq_u32(b.v, boundary))));
  };
  const uint8x16_t weights = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  uint8x16_t sums = vandq_u8(vuzp1q_u8(halves(quads[0], quads[1]), halves(quads[2], quads[3])), weights);
  for (int round = 0; round < 3; ++round) sums = vpaddq_u8(sums, sums);
  const std::uint16_t bits = vgetq_lane_u16(vreinterpretq_u16_u8(sums), 0);
  __builtin_memcpy(out, &bits, sizeof bits);
}

inline std::uint32_t fingerprint(const std::uint8_t* window) {
  const uint32x4_t older = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(window)));
  const uint32x4_t newer = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(window + 16)));
  const int32x4_t shifts = {12, 8, 4, 0};
  return vaddvq_u32(vshlq_u32(vaddq_u32(vshlq_n_u32(older, 16), newer), shifts));
}

class SmallestLanes16 {
 public:
  void add(std::uint32_t fingerprint) {
    for (int i = 0; i < 3; ++i) {
      const uint32x4_t transforms =
          vmlaq_n_u32(vld1q_u32(kTransforms.addend + 4 * i), vld1q_u32(kTransforms.multiplier + 4 * i), fingerprint);
      smallest_[i] = vminq_u32(smallest_[i], transforms);
    }
  }
  void write(std::uint64_t* features) const {
    for (int i = 0; i < 3; ++i) {
      vst1q_u64(features + 4 * i, vmovl_u32(vget_low_u32(smallest_[i])));
      vst1q_u64(features + 4 * i + 2, vmovl_high_u32(smallest_[i]));
    }
  }

 private:
  uint32x4_t smallest_[3] = {vdupq_n_u32(~0u), vdupq_n_u32(~0u), vdupq_n_u32(~0u)};
};

}  // namespace
}  // namespace dedupfs::resemblance
