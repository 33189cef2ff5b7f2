// The candidate scan of a sliding CRC-32 in plain code (Ni, Lin, Jiang: "SS-CDC: a two-stage parallel content-defined
// chunking for deduplicating backup storage", SYSTOR '19, section 3).
#pragma once

#include "chunkers/kernels/crc_table.h"
#include "chunkers/kernels/kernels.h"
#include "chunkers/reference/bits.h"

namespace dedupfs::reference {
namespace {

inline std::uint32_t crc_step(std::uint32_t crc, std::uint8_t byte) {
  return (crc >> 8) ^ kCrcTables.in[(crc ^ byte) & 0xff];
}

inline void crc(const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
  clear_bits(n, bits);
  std::uint32_t crc = 0;
  for (const std::uint8_t* before = p - simd::kCrcLookBackBytes; before != p; ++before) crc = crc_step(crc, *before);
  for (std::size_t i = 0; i < n; ++i) {
    crc = crc_step(crc, p[i]);
    if (i > 0) crc ^= kCrcTables.out[*(p + i - kCrcWindowBytes)];
    if ((crc & mask) == 0) set_bit(i, bits);
  }
}

}  // namespace
}  // namespace dedupfs::reference
