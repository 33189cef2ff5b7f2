// 16 bytes in a VSX register of POWER8 in little-endian mode; the vocabulary is described in scan-inl.h.
#pragma once

#include <altivec.h>
// Keywords that the header adds and C++ has other uses for.
#undef bool
#undef pixel
#undef vector

#include <cstddef>
#include <cstdint>

#include "chunkers/simd/linear_map.h"

namespace dedupfs::simd {
namespace {

struct ByteVec16 {
  static constexpr std::size_t kWidth = 16;
  using Native = __vector unsigned char;
  Native v;

  static ByteVec16 load(const std::uint8_t* p) { return {vec_xl(0, p)}; }
  static ByteVec16 splat(std::uint8_t byte) { return {vec_splats(byte)}; }
  static ByteVec16 load_pieces(const std::uint8_t* p, std::size_t) { return load(p); }

  std::uint8_t largest() const {
    Native all = vec_max(v, vec_sld(v, v, 8));
    all = vec_max(all, vec_sld(all, all, 4));
    all = vec_max(all, vec_sld(all, all, 2));
    return vec_extract(vec_max(all, vec_sld(all, all, 1)), 0);
  }
  std::uint8_t smallest() const {
    Native all = vec_min(v, vec_sld(v, v, 8));
    all = vec_min(all, vec_sld(all, all, 4));
    all = vec_min(all, vec_sld(all, all, 2));
    return vec_extract(vec_min(all, vec_sld(all, all, 1)), 0);
  }
};

inline ByteVec16 max(ByteVec16 a, ByteVec16 b) {
  return {vec_max(a.v, b.v)};
}

inline ByteVec16 min(ByteVec16 a, ByteVec16 b) {
  return {vec_min(a.v, b.v)};
}

inline ByteVec16 operator^(ByteVec16 a, ByteVec16 b) {
  return {vec_xor(a.v, b.v)};
}

inline ByteVec16 operator&(ByteVec16 a, ByteVec16 b) {
  return {vec_and(a.v, b.v)};
}

inline ByteVec16 operator|(ByteVec16 a, ByteVec16 b) {
  return {vec_or(a.v, b.v)};
}

inline ByteVec16 rotated_left(ByteVec16 a) {
  return {vec_rl(a.v, vec_splat_u8(1))};
}

// A bit for each lane of a comparison, whose lanes are all ones or all zeros. vbpermq picks one bit of each lane. It
// counts bits and lanes from the other end than this code does. Two reversals correct that.
inline std::uint64_t bits_of(__vector __bool char lanes) {
  const ByteVec16::Native places = {120, 112, 104, 96, 88, 80, 72, 64, 56, 48, 40, 32, 24, 16, 8, 0};
  return static_cast<std::uint64_t>(vec_extract(vec_vbpermq(reinterpret_cast<ByteVec16::Native>(lanes), places), 1));
}

inline std::uint64_t eq_bits(ByteVec16 a, ByteVec16 b) {
  return bits_of(vec_cmpeq(a.v, b.v));
}

inline std::uint64_t ge_bits(ByteVec16 a, ByteVec16 b) {
  return bits_of(vec_cmpge(a.v, b.v));
}

inline std::uint64_t gt_bits(ByteVec16 a, ByteVec16 b) {
  return bits_of(vec_cmpgt(a.v, b.v));
}

inline ByteVec16 zip_low(ByteVec16 a, ByteVec16 b) {
  return {vec_mergeh(a.v, b.v)};
}

inline ByteVec16 zip_high(ByteVec16 a, ByteVec16 b) {
  return {vec_mergel(a.v, b.v)};
}

struct Nibbles16 {
  ByteVec16::Native low, high;
};

inline Nibbles16 nibbles(ByteVec16 a) {
  return {vec_and(a.v, vec_splat_u8(15)), vec_sr(a.v, vec_splat_u8(4))};
}

inline ByteVec16 apply(const LinearMap& map, Nibbles16 a) {
  const ByteVec16::Native of_low = vec_xl(0, map.of_low), of_high = vec_xl(0, map.of_high);
  return {vec_xor(vec_perm(of_low, of_low, a.low), vec_perm(of_high, of_high, a.high))};
}

}  // namespace
}  // namespace dedupfs::simd
