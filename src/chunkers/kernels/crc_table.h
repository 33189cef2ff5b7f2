// The sliding CRC-32 of the SS-CDC and DedupBench programs: reflected polynomial 0xEDB88320, initial value 0, no final
// inversion, over a window of 256 bytes.
//
// Boundaries of volumes depend on these numbers: they never change.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dedupfs {

inline constexpr std::size_t kCrcWindowBytes = 256;

struct CrcTables {
  std::uint32_t in[256];   // the CRC of one byte
  std::uint32_t out[256];  // the contribution of a byte that has left the window: that byte and 256 zeros
};

consteval std::uint32_t crc_of_byte(std::uint32_t byte) {
  for (int bit = 0; bit < 8; ++bit) byte = (byte >> 1) ^ ((byte & 1) != 0 ? 0xEDB88320u : 0u);
  return byte;
}

consteval CrcTables make_crc_tables() {
  CrcTables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) tables.in[i] = crc_of_byte(i);
  for (std::uint32_t bit = 0; bit < 8; ++bit) {  // the CRC is linear, so eight entries make all
    std::uint32_t crc = tables.in[1u << bit];
    for (std::size_t i = 0; i < kCrcWindowBytes; ++i) crc = (crc >> 8) ^ tables.in[crc & 0xff];
    for (std::uint32_t i = 0; i < 256; ++i)
      if ((i >> bit & 1) != 0) tables.out[i] ^= crc;
  }
  return tables;
}

// As kGearTable, a copy for each source.
constexpr CrcTables kCrcTables = make_crc_tables();

}  // namespace dedupfs
