// The SHA extensions of x86 (Goldmont, Ice Lake, Zen and later). Source of the order of instructions: S. Gulley et al., "Intel SHA
// Extensions", 2013.
#include <immintrin.h>

#include "hash/simd/kernels.h"
#include "hash/simd/lanes-inl.h"

namespace dedupfs::sha256 {
namespace {

struct X86Sha {
  struct State {
    __m128i abef, cdgh;
  };
  using Words = __m128i;

  static State initial() {
    return {_mm_setr_epi32(static_cast<int>(0x9b05688c), 0x510e527f, static_cast<int>(0xbb67ae85), 0x6a09e667),
            _mm_setr_epi32(0x5be0cd19, 0x1f83d9ab, static_cast<int>(0xa54ff53a), 0x3c6ef372)};
  }

  static Words load(const std::uint8_t* bytes) {
    const __m128i big_endian = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
    return _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)), big_endian);
  }

  static Words round_constants(std::size_t group) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(kRoundConstants) + group);
  }

  static State after_four_rounds(const State& state, Words words, Words constants) {
    const __m128i sum = _mm_add_epi32(words, constants);
    const __m128i after_two = _mm_sha256rnds2_epu32(state.cdgh, state.abef, sum);
    return {_mm_sha256rnds2_epu32(state.abef, after_two, _mm_shuffle_epi32(sum, 0x0e)), after_two};
  }

  static Words next_words(Words oldest, Words second, Words third, Words newest) {
    const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(oldest, second), _mm_alignr_epi8(newest, third, 4));
    return _mm_sha256msg2_epu32(sum, newest);
  }

  static State sum(const State& a, const State& b) {
    return {_mm_add_epi32(a.abef, b.abef), _mm_add_epi32(a.cdgh, b.cdgh)};
  }

  static void store(const State& state, std::uint8_t* digest) {
    const __m128i big_endian = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    auto* const out = reinterpret_cast<__m128i*>(digest);
    // From the low word: f, e, b, a and h, g, d, c.
    _mm_storeu_si128(out, _mm_shuffle_epi8(_mm_unpackhi_epi64(state.cdgh, state.abef), big_endian));
    _mm_storeu_si128(out + 1, _mm_shuffle_epi8(_mm_unpacklo_epi64(state.cdgh, state.abef), big_endian));
  }
};

}  // namespace

constinit const Kernels kX86ShaKernels = {.hash_messages = &hash_in_lanes<X86Sha>};

}  // namespace dedupfs::sha256
