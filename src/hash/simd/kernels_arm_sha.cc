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
  template <std::size_t kLanes>
  using StateOfEach = State* const (&)[kLanes];
  template <std::size_t kLanes>
  using BytesOfEach = const std::uint8_t* const (&)[kLanes];

  static State initial() {
    static constexpr std::uint32_t kWords[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    return {vld1q_u32(kWords), vld1q_u32(kWords + 4)};
  }

  template <std::size_t kLanes>
  static void compress(StateOfEach<kLanes> states, BytesOfEach<kLanes> bytes, std::size_t blocks) {
    State now[kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane) now[lane] = *states[lane];
    for (std::size_t block = 0; block < blocks; ++block) {
      State before[kLanes];
      uint32x4_t words[kLanes][4];  // of the message schedule: those of four groups of four rounds
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        before[lane] = now[lane];
        const std::uint8_t* const at = bytes[lane] + block * kBlockBytes;
        for (std::size_t i = 0; i < 4; ++i) words[lane][i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(at + 16 * i)));
      }
#pragma GCC unroll 16
      for (std::size_t group = 0; group < 16; ++group) {
        const uint32x4_t constants = vld1q_u32(kRoundConstants + 4 * group);
#pragma GCC unroll 2
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          uint32x4_t(&ring)[4] = words[lane];  // the oldest is that of this group
          const uint32x4_t sum = vaddq_u32(ring[group % 4], constants);
          const uint32x4_t abcd = now[lane].abcd;
          now[lane].abcd = vsha256hq_u32(abcd, now[lane].efgh, sum);
          now[lane].efgh = vsha256h2q_u32(now[lane].efgh, abcd, sum);
          if (group < 12)
            ring[group % 4] = vsha256su1q_u32(vsha256su0q_u32(ring[group % 4], ring[(group + 1) % 4]),
                                              ring[(group + 2) % 4], ring[(group + 3) % 4]);
        }
      }
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        now[lane].abcd = vaddq_u32(now[lane].abcd, before[lane].abcd);
        now[lane].efgh = vaddq_u32(now[lane].efgh, before[lane].efgh);
      }
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) *states[lane] = now[lane];
  }

  static void store(const State& state, std::uint8_t* digest) {
    vst1q_u8(digest, vrev32q_u8(vreinterpretq_u8_u32(state.abcd)));
    vst1q_u8(digest + 16, vrev32q_u8(vreinterpretq_u8_u32(state.efgh)));
  }
};

}  // namespace

constinit const Kernels kArmShaKernels = {.hash_messages = &hash_in_lanes<ArmSha>};

}  // namespace dedupfs::sha256
