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
  template <std::size_t kLanes>
  using StateOfEach = State* const (&)[kLanes];
  template <std::size_t kLanes>
  using BytesOfEach = const std::uint8_t* const (&)[kLanes];

  static State initial() {
    return {_mm_setr_epi32(static_cast<int>(0x9b05688c), 0x510e527f, static_cast<int>(0xbb67ae85), 0x6a09e667),
            _mm_setr_epi32(0x5be0cd19, 0x1f83d9ab, static_cast<int>(0xa54ff53a), 0x3c6ef372)};
  }

  template <std::size_t kLanes>
  static void compress(StateOfEach<kLanes> states, BytesOfEach<kLanes> bytes, std::size_t blocks) {
    const __m128i big_endian = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
    State now[kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane) now[lane] = *states[lane];
    for (std::size_t block = 0; block < blocks; ++block) {
      State before[kLanes];
      __m128i words[kLanes][4];  // of the message schedule: those of four groups of four rounds
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        before[lane] = now[lane];
        const auto* const at = reinterpret_cast<const __m128i*>(bytes[lane] + block * kBlockBytes);
        for (std::size_t i = 0; i < 4; ++i) words[lane][i] = _mm_shuffle_epi8(_mm_loadu_si128(at + i), big_endian);
      }
#pragma GCC unroll 16
      for (std::size_t group = 0; group < 16; ++group) {
        const __m128i constants = _mm_load_si128(reinterpret_cast<const __m128i*>(kRoundConstants) + group);
#pragma GCC unroll 2
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          State& state = now[lane];
          const __m128i sum = _mm_add_epi32(words[lane][group % 4], constants);
          state.cdgh = _mm_sha256rnds2_epu32(state.cdgh, state.abef, sum);
          state.abef = _mm_sha256rnds2_epu32(state.abef, state.cdgh, _mm_shuffle_epi32(sum, 0x0e));
          if (group < 12) words[lane][group % 4] = words_after(words[lane], group);
        }
      }
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        now[lane].abef = _mm_add_epi32(now[lane].abef, before[lane].abef);
        now[lane].cdgh = _mm_add_epi32(now[lane].cdgh, before[lane].cdgh);
      }
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) *states[lane] = now[lane];
  }

  static void store(const State& state, std::uint8_t* digest) {
    const __m128i big_endian = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    auto* const out = reinterpret_cast<__m128i*>(digest);
    // From the low word: f, e, b, a and h, g, d, c.
    _mm_storeu_si128(out, _mm_shuffle_epi8(_mm_unpackhi_epi64(state.cdgh, state.abef), big_endian));
    _mm_storeu_si128(out + 1, _mm_shuffle_epi8(_mm_unpacklo_epi64(state.cdgh, state.abef), big_endian));
  }

 private:
  // Those of four groups later. `words` are a ring; `group` is the oldest in it.
  static __m128i words_after(const __m128i (&words)[4], std::size_t group) {
    const __m128i oldest = words[group % 4], second = words[(group + 1) % 4], third = words[(group + 2) % 4],
                  newest = words[(group + 3) % 4];
    const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(oldest, second), _mm_alignr_epi8(newest, third, 4));
    return _mm_sha256msg2_epu32(sum, newest);
  }
};

}  // namespace

constinit const Kernels kX86ShaKernels = {.hash_messages = &hash_in_lanes<X86Sha>};

}  // namespace dedupfs::sha256
