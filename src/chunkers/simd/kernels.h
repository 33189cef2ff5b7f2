// The inner loops of the chunkers, one table per instruction set. Algorithms call these primitives and know no ISA.
//
// Every table gives the same results as kScalarKernels, bit for bit; that one is the definition.
// This header is compiled for every ISA, so it must not pull in inline functions: one compiled for a newer CPU could be
// the copy that the linker keeps for the whole program. For the same reason the kernels live in anonymous namespaces.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dedupfs::simd {

inline constexpr std::size_t kGearLookBackBytes = 63;

struct Kernels {
  // Extreme byte search (VectorCDC, FAST '25): the largest of p[0..n), n > 0.
  std::uint8_t (*max_byte)(const std::uint8_t* p, std::size_t n);

  // Range scan (VectorCDC, FAST '25): the first i in [0, n) with p[i] >= limit, else n.
  std::size_t (*first_at_least)(const std::uint8_t* p, std::size_t n, std::uint8_t limit);

  // Candidate scan (the first stage of SS-CDC, SYSTOR '19) over Gear: bit i of `bits`, i in [0, n), says whether the
  // hash of the bytes up to and with byte i has no bit in common with `mask`. The kGearLookBackBytes in front of p must
  // be readable: that is all that the hash can depend on. Writes (n + 63) / 64 words; bits from n on are zero. A mask
  // below 2^16 makes the hash depend on 16 bytes only, which some ISAs compute several times faster.
  void (*gear_candidates)(const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits);
};

extern const Kernels kScalarKernels;
extern const Kernels kSse41Kernels;
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;

}  // namespace dedupfs::simd
