// The SHA-256 instructions of AArch64 (FEAT_SHA256).
#include <arm_neon.h>

#include "hash/simd/kernels.h"
#include "hash/simd/lanes-inl.h"

namespace dedupfs::sha256 {
namespace {

struct ArmSha {
  struct State {
    uint32x4_t abcd, efgh;
  };
  using Words = uint32x4_t;

  static State initial() {
    static constexpr std::uint32_t kWords[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    return {vld1q_u32(kWords), vld1q_u32(kWords + 4)};
  }

  static Words load(const std::uint8_t* bytes) { return vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(bytes))); }

  static Words round_constants(std::size_t group) { return vld1q_u32(kRoundConstants + 4 * group); }

  static State after_four_rounds(const State& state, Words words, Words constants) {
    const uint32x4_t sum = vaddq_u32(words, constants);
    return {vsha256hq_u32(state.abcd, state.efgh, sum), vsha256h2q_u32(state.efgh, state.abcd, sum)};
  }

  static Words next_words(Words oldest, Words second, Words third, Words newest) {
    return vsha256su1q_u32(vsha256su0q_u32(oldest, second), third, newest);
  }

  static State sum(const State& a, const State& b) { return {vaddq_u32(a.abcd, b.abcd), vaddq_u32(a.efgh, b.efgh)}; }

  static void store(const State& state, std::uint8_t* digest) {
    vst1q_u8(digest, vrev32q_u8(vreinterpretq_u8_u32(state.abcd)));
    vst1q_u8(digest + 16, vrev32q_u8(vreinterpretq_u8_u32(state.efgh)));
  }
};

}  // namespace

constinit const Kernels kArmShaKernels = {.hash_messages = &hash_in_lanes<ArmSha>};

}  // namespace dedupfs::sha256
