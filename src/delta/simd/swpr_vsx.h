// VSX of POWER8 in little-endian mode: one segment a register; the vocabulary is described in odess_plus-inl.h.
#pragma once

#include <altivec.h>
// Keywords that the header adds and C++ has other uses for.
#undef bool
#undef pixel
#undef vector

#include <cstddef>
#include <cstdint>

#include "delta/reference/feature_definition.h"

namespace dedupfs::resemblance {
namespace {

struct SwprRegister16 {
  static constexpr std::size_t kSegments = 1;
  static constexpr std::size_t kRegisters = 4;
  using Bytes = __vector unsigned char;
  using Numbers = __vector unsigned int;
  Numbers v;

  static SwprRegister16 zero() { return {vec_splats(0u)}; }
  static SwprRegister16 load(const std::uint8_t* p, std::size_t /*length*/) {
    return {reinterpret_cast<Numbers>(vec_xl(0, p))};
  }

  template <int kFirst>
  SwprRegister16 words() const {
    constexpr unsigned char f = kFirst;
    const Bytes shuffle = {f + 3, f + 2, f + 1, f,     f + 4, f + 3, f + 2, f + 1,
                           f + 5, f + 4, f + 3, f + 2, f + 6, f + 5, f + 4, f + 3};
    return {vec_perm(v, v, shuffle)};
  }
  static constexpr std::size_t bit_of(std::size_t segment, std::size_t window) { return 16 * segment + window; }
  std::uint32_t largest() const {
    const Numbers pairs = vec_max(v, vec_sld(v, v, 8));
    return vec_extract(vec_max(pairs, vec_sld(pairs, pairs, 4)), 0);
  }
};

inline SwprRegister16 straddle(SwprRegister16 before, SwprRegister16 now) {
  const SwprRegister16::Bytes shuffle = {13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28};
  return {vec_perm(before.v, now.v, shuffle)};
}

inline SwprRegister16 rolled(SwprRegister16 fingerprints, SwprRegister16 words) {
  return {vec_add(vec_sl(fingerprints.v, vec_splats(4u)), words.v)};
}

inline SwprRegister16 max(SwprRegister16 a, SwprRegister16 b) {
  return {vec_max(a.v, b.v)};
}

// Narrows to bytes. Then vec_vbpermq gathers their top bits. It counts bits and bytes from the other end.
inline void store_sampled(const SwprRegister16 (&quads)[4], std::uint8_t* out) {
  const auto halves = [](SwprRegister16 a, SwprRegister16 b) {
    const SwprRegister16::Numbers below = vec_splats(kBoundary - 1);
    return vec_pack(vec_cmpgt(a.v, below), vec_cmpgt(b.v, below));
  };
  const auto lanes =
      reinterpret_cast<SwprRegister16::Bytes>(vec_pack(halves(quads[0], quads[1]), halves(quads[2], quads[3])));
  const SwprRegister16::Bytes top_bits = {120, 112, 104, 96, 88, 80, 72, 64, 56, 48, 40, 32, 24, 16, 8, 0};
  const auto gathered = reinterpret_cast<__vector unsigned long long>(vec_vbpermq(lanes, top_bits));
  const auto bits = static_cast<std::uint16_t>(vec_extract(gathered, 1));
  __builtin_memcpy(out, &bits, sizeof bits);
}

inline std::uint32_t fingerprint(const std::uint8_t* window) {
  std::uint32_t sum = 0;
  for (int t = 0; t < 8; ++t) {
    std::uint32_t word;
    __builtin_memcpy(&word, window + 4 * t, sizeof word);
    sum = (sum << 4) + __builtin_bswap32(word);
  }
  return sum;
}

class SmallestLanes16 {
 public:
  void add(std::uint32_t fingerprint) {
    for (int i = 0; i < 3; ++i) {
      const SwprRegister16::Numbers product = vec_splats(fingerprint) * vec_xl(16 * i, kTransforms.multiplier);
      smallest_[i] = vec_min(smallest_[i], vec_add(product, vec_xl(16 * i, kTransforms.addend)));
    }
  }
  void write(std::uint64_t* features) const {
    for (std::size_t k = 0; k < kFeatureCount; ++k) features[k] = vec_extract(smallest_[k / 4], k % 4);
  }

 private:
  SwprRegister16::Numbers smallest_[3] = {vec_splats(~0u), vec_splats(~0u), vec_splats(~0u)};
};

}  // namespace
}  // namespace dedupfs::resemblance
