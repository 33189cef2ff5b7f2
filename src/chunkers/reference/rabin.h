// The candidate scan of a sliding Rabin fingerprint in plain code (Rabin: "Fingerprinting by random polynomials", 1981;
// as a chunker in Muthitacharoen, Chen, Mazières: "A low-bandwidth network file system", SOSP '01, section 3.1).
#pragma once

#include "chunkers/kernels/kernels.h"
#include "chunkers/kernels/rabin_table.h"
#include "chunkers/reference/bits.h"

namespace dedupfs::reference {
namespace {

inline void rabin(const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
  clear_bits(n, bits);
  std::uint64_t digest = 0;
  for (const std::uint8_t* before = p - simd::kRabinLookBackBytes; before != p; ++before)
    digest = rabin_step(digest, *before);
  for (std::size_t i = 0; i < n; ++i) {
    digest = rabin_step(digest, p[i]);
    if (i > 0) digest ^= kRabinTables.out[*(p + i - kRabinWindowBytes)];
    if ((digest & mask) == 0) set_bit(i, bits);
  }
}

}  // namespace
}  // namespace dedupfs::reference
