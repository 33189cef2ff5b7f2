// What the x86 vectors of odess_plus-inl.h have in common, in blocks of 128 bits.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "delta/feature_definition.h"

namespace dedupfs::resemblance {
namespace {

constexpr int kBoundaryShift = 25;
static_assert(kBoundary == ~std::uint32_t{0} << kBoundaryShift);

inline __m128i load_block(const std::uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

template <int kFirst>
inline __m128i words_shuffle() {
  constexpr int f = kFirst;
  return _mm_setr_epi8(f + 3, f + 2, f + 1, f, f + 4, f + 3, f + 2, f + 1, f + 5, f + 4, f + 3, f + 2, f + 6, f + 5,
                       f + 4, f + 3);
}

// The undefined position of the lowest bit of 0 is as good as any here.
inline std::size_t lowest_bit(std::uint64_t mask) {
#if defined(__BMI__)
  return _tzcnt_u64(mask);
#else
  return static_cast<std::size_t>(__builtin_ctzll(mask | std::uint64_t{1} << 63));
#endif
}

// In every lane, of the 32 bytes of a window.
inline __m128i fingerprint(const std::uint8_t* window) {
  const __m128i kBigEndian = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
  const __m128i older = _mm_shuffle_epi8(load_block(window), kBigEndian);
  const __m128i newer = _mm_shuffle_epi8(load_block(window + 16), kBigEndian);
  const __m128i words = _mm_add_epi32(_mm_slli_epi32(older, 16), newer);  // shifts of 12, 8, 4, 0 remain
  const __m128i pairs = _mm_add_epi32(_mm_slli_epi32(_mm_shuffle_epi32(words, 0xa0), 4), words);  // lanes 1 and 3
  return _mm_add_epi32(_mm_slli_epi32(_mm_shuffle_epi32(pairs, 0x55), 8), _mm_shuffle_epi32(pairs, 0xff));
}

inline std::uint32_t largest_of(__m128i v) {
  v = _mm_max_epu32(v, _mm_shuffle_epi32(v, 0x4e));
  v = _mm_max_epu32(v, _mm_shuffle_epi32(v, 0xb1));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(v));
}

}  // namespace
}  // namespace dedupfs::resemblance
