// The common part of the x86 vectors of odess_plus-inl.h, in blocks of 128 bits.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "delta/reference/feature_definition.h"

namespace dedupfs::resemblance {
namespace {

constexpr int kBoundaryShift = 25;
static_assert(kBoundary == ~std::uint32_t{0} << kBoundaryShift);

inline __m128i load_block(const std::uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

// From memory: else GCC would make the wider forms again in each round, by a shuffle.
template <int kFirst>
inline __m128i words_shuffle() {
  constexpr char f = kFirst;
  alignas(16) static constexpr char kBytes[16] = {f + 3, f + 2, f + 1, f,     f + 4, f + 3, f + 2, f + 1,
                                                  f + 5, f + 4, f + 3, f + 2, f + 6, f + 5, f + 4, f + 3};
  return _mm_load_si128(reinterpret_cast<const __m128i*>(kBytes));
}

inline __m128i big_endian_shuffle() {
  return _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
}

// In every lane.
inline __m128i fingerprint(const std::uint8_t* window) {
#if defined(__AVX2__)
  const __m256i kBigEndian = _mm256_broadcastsi128_si256(big_endian_shuffle());
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(window));
  const __m256i words =
      _mm256_sllv_epi32(_mm256_shuffle_epi8(bytes, kBigEndian), _mm256_setr_epi32(28, 24, 20, 16, 12, 8, 4, 0));
  const __m128i halves = _mm_add_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  const __m128i pairs = _mm_add_epi32(halves, _mm_shuffle_epi32(halves, 0x4e));
  return _mm_add_epi32(pairs, _mm_shuffle_epi32(pairs, 0xb1));
#else
  const __m128i older = _mm_shuffle_epi8(load_block(window), big_endian_shuffle());
  const __m128i newer = _mm_shuffle_epi8(load_block(window + 16), big_endian_shuffle());
  const __m128i words = _mm_add_epi32(_mm_slli_epi32(older, 16), newer);  // shifts of 12, 8, 4, 0 remain
  const __m128i pairs = _mm_add_epi32(_mm_slli_epi32(_mm_shuffle_epi32(words, 0xa0), 4), words);  // lanes 1 and 3
  return _mm_add_epi32(_mm_slli_epi32(_mm_shuffle_epi32(pairs, 0x55), 8), _mm_shuffle_epi32(pairs, 0xff));
#endif
}

inline std::uint32_t largest_of(__m128i v) {
  v = _mm_max_epu32(v, _mm_shuffle_epi32(v, 0x4e));
  v = _mm_max_epu32(v, _mm_shuffle_epi32(v, 0xb1));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(v));
}

}  // namespace
}  // namespace dedupfs::resemblance
