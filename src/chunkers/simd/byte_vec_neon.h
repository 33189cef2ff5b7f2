// 16 bytes in a NEON register; the vocabulary is described in scan-inl.h.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "chunkers/simd/linear_map.h"

namespace dedupfs::simd {
namespace {

struct ByteVec16 {
  static constexpr std::size_t kWidth = 16;
  uint8x16_t v;

  static ByteVec16 load(const std::uint8_t* p) { return {vld1q_u8(p)}; }
  static ByteVec16 splat(std::uint8_t byte) { return {vdupq_n_u8(byte)}; }
  static ByteVec16 load_pieces(const std::uint8_t* p, std::size_t) { return load(p); }

  std::uint8_t largest() const { return vmaxvq_u8(v); }
  std::uint8_t smallest() const { return vminvq_u8(v); }
};

inline ByteVec16 max(ByteVec16 a, ByteVec16 b) {
  return {vmaxq_u8(a.v, b.v)};
}

inline ByteVec16 min(ByteVec16 a, ByteVec16 b) {
  return {vminq_u8(a.v, b.v)};
}

inline ByteVec16 operator^(ByteVec16 a, ByteVec16 b) {
  return {veorq_u8(a.v, b.v)};
}

inline ByteVec16 operator&(ByteVec16 a, ByteVec16 b) {
  return {vandq_u8(a.v, b.v)};
}

inline ByteVec16 operator|(ByteVec16 a, ByteVec16 b) {
  return {vorrq_u8(a.v, b.v)};
}

inline ByteVec16 rotated_left(ByteVec16 a) {
  return {vsriq_n_u8(vshlq_n_u8(a.v, 1), a.v, 7)};
}

// A bit for each lane of a comparison, whose lanes are all ones or all zeros. Three rounds of pairwise sums collect
// eight lanes in a byte.
inline std::uint64_t bits_of(uint8x16_t lanes) {
  const uint8x16_t weights = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  uint8x16_t sums = vandq_u8(lanes, weights);
  for (int round = 0; round < 3; ++round) sums = vpaddq_u8(sums, sums);
  return vgetq_lane_u16(vreinterpretq_u16_u8(sums), 0);
}

inline std::uint64_t eq_bits(ByteVec16 a, ByteVec16 b) {
  return bits_of(vceqq_u8(a.v, b.v));
}

inline std::uint64_t ge_bits(ByteVec16 a, ByteVec16 b) {
  return bits_of(vcgeq_u8(a.v, b.v));
}

inline std::uint64_t gt_bits(ByteVec16 a, ByteVec16 b) {
  return bits_of(vcgtq_u8(a.v, b.v));
}

inline ByteVec16 zip_low(ByteVec16 a, ByteVec16 b) {
  return {vzip1q_u8(a.v, b.v)};
}

inline ByteVec16 zip_high(ByteVec16 a, ByteVec16 b) {
  return {vzip2q_u8(a.v, b.v)};
}

struct Nibbles16 {
  uint8x16_t low, high;
};

inline Nibbles16 nibbles(ByteVec16 a) {
  return {vandq_u8(a.v, vdupq_n_u8(15)), vshrq_n_u8(a.v, 4)};
}

inline ByteVec16 apply(const LinearMap& map, Nibbles16 a) {
  return {veorq_u8(vqtbl1q_u8(vld1q_u8(map.of_low), a.low), vqtbl1q_u8(vld1q_u8(map.of_high), a.high))};
}

// Four registers as one vector, for kernels that want words of 64 bits. A word then takes four sums instead of twelve,
// and one move to the general registers instead of four. It has only the operations that those kernels use.
struct ByteVec64 {
  static constexpr std::size_t kWidth = 64;
  ByteVec16 quarters[4];

  static ByteVec64 load(const std::uint8_t* p) {
    return {ByteVec16::load(p), ByteVec16::load(p + 16), ByteVec16::load(p + 32), ByteVec16::load(p + 48)};
  }
  static ByteVec64 splat(std::uint8_t byte) {
    const ByteVec16 quarter = ByteVec16::splat(byte);
    return {quarter, quarter, quarter, quarter};
  }
};

template <class Operation>
ByteVec64 each_quarter(const ByteVec64& a, const ByteVec64& b, Operation operation) {
  ByteVec64 result;
  for (int i = 0; i < 4; ++i) result.quarters[i] = operation(a.quarters[i], b.quarters[i]);
  return result;
}

inline ByteVec64 operator^(const ByteVec64& a, const ByteVec64& b) {
  return each_quarter(a, b, [](ByteVec16 x, ByteVec16 y) { return x ^ y; });
}

inline ByteVec64 rotated_left(const ByteVec64& a) {
  return each_quarter(a, a, [](ByteVec16 x, ByteVec16) { return rotated_left(x); });
}

inline std::uint64_t bits_of(const ByteVec64& lanes) {
  const uint8x16_t weights = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  uint8x16_t weighted[4];
  for (int i = 0; i < 4; ++i) weighted[i] = vandq_u8(lanes.quarters[i].v, weights);
  const uint8x16_t sums = vpaddq_u8(vpaddq_u8(weighted[0], weighted[1]), vpaddq_u8(weighted[2], weighted[3]));
  return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)), 0);
}

inline std::uint64_t ge_bits(const ByteVec64& a, const ByteVec64& b) {
  return bits_of(each_quarter(a, b, [](ByteVec16 x, ByteVec16 y) { return ByteVec16{vcgeq_u8(x.v, y.v)}; }));
}

inline std::uint64_t gt_bits(const ByteVec64& a, const ByteVec64& b) {
  return bits_of(each_quarter(a, b, [](ByteVec16 x, ByteVec16 y) { return ByteVec16{vcgtq_u8(x.v, y.v)}; }));
}

}  // namespace
}  // namespace dedupfs::simd
