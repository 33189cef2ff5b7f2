// The exact definition of the features and super-features of a chunk. Volumes store them: nothing here ever
// changes. An independent implementation needs this comment, kSampleMask, kBoundary and the two tables of the chunkers
// (chunkers/kernels/rabin_table.h, chunkers/kernels/gear_table.h).
//
// ## Windows
//
// A method looks at all windows of W bytes of a chunk of n bytes: those that end with byte i, for i from W - 1 to n - 1. A
// chunk of fewer than W bytes is treated as if zero bytes came before it, W in all, so that every chunk has a window. What
// is said of a window depends on its W bytes alone, wherever they lie.
//
//     n-transform, finesse   W = 48   Rabin fingerprint: residue of the window modulo the polynomial (53 bits)
//     odess                  W = 47   Gear hash g = sum over t = 0..46 of G[b[i - t]] << t modulo 2^64; fingerprint: its
//                                     low 32 bits; sampled: when g has no bit in common with kSampleMask
//     odess+                 W = 32   fingerprint: sum over t = 0..7 of w[i - 4t] << 4t modulo 2^32, where w[j] is the
//                                     big-endian number of the four bytes that end with byte j; sampled: fingerprint >= kBoundary
//
// ## Features
//
// The transform k (0 to 11) of a fingerprint is multiplier[k] * fingerprint + addend[k] modulo 2^32. These 24 numbers are
// the low 32 bits, with the lowest bit set, of the outputs of splitmix64 started at state 1: multiplier[0], addend[0],
// multiplier[1], and so on. (splitmix64: add 0x9E3779B97F4A7C15 to the state; of the state z then z = (z ^ z >> 30) *
// 0xBF58476D1CE4E5B9, z = (z ^ z >> 27) * 0x94D049BB133111EB, and z ^ z >> 31 is the output.)
//
//     n-transform     feature k is the largest transform k of all windows.
//     odess, odess+   feature k is the smallest transform k of the sampled windows. Where no window is sampled (constant
//                     and nearly constant chunks, short ones), of the largest fingerprint alone: such chunks are alike
//                     only when they have that in common.
//     finesse         with m = n - 47 windows (m = 1 for a chunk filled up): window j belongs to sub-chunk k when
//                     k * m / 12 <= j < (k + 1) * m / 12, rounded down; feature k is the largest fingerprint of sub-chunk
//                     k. With fewer than twelve windows there are no sub-chunks: each feature is the largest of all.
//
// ## Sketch
//
// Super-feature s (0 to 2) is XXH64 with seed s of four features, each written as 8 bytes little-endian, 32 bytes in all:
//
//     n-transform, odess, odess+   features 4s, 4s + 1, 4s + 2, 4s + 3
//     finesse                      of each group of three features, (0, 1, 2) (3, 4, 5) (6, 7, 8) (9, 10, 11) in this
//                                  order, the (s + 1)-th largest
//
// This header is compiled for every ISA, so it must not pull in inline functions (see simd/kernels.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace dedupfs::resemblance {

inline constexpr std::size_t kFeatureCount = 12;
inline constexpr std::size_t kSubChunks = 12;

inline constexpr std::size_t kRabinFeatureWindowBytes = 48;
inline constexpr std::size_t kOdessWindowBytes = 47;
inline constexpr std::size_t kOdessPlusWindowBytes = 32;

// Both sample one window of 128.
inline constexpr std::uint64_t kSampleMask = 0x0000'4003'0341'0000;
inline constexpr std::uint32_t kBoundary = 0xfe00'0000;

struct Transforms {
  // Four more than there are features, for vectors of sixteen lanes: always zero.
  alignas(64) std::uint32_t multiplier[16];
  alignas(64) std::uint32_t addend[16];
};

consteval Transforms make_transforms() {
  Transforms transforms{};
  std::uint64_t state = 1;
  const auto next_odd = [&state] {
    std::uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return static_cast<std::uint32_t>(z ^ (z >> 31)) | 1;
  };
  for (std::size_t k = 0; k < kFeatureCount; ++k) {
    transforms.multiplier[k] = next_odd();
    transforms.addend[k] = next_odd();
  }
  return transforms;
}

// As kGearTable, a copy for each source.
constexpr Transforms kTransforms = make_transforms();

}  // namespace dedupfs::resemblance
