// The checksum of RocksDB's logs and of some of its tables: CRC-32C, masked (rocksdb/util/crc32c.h).
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"

namespace dedupfs {

inline constexpr std::array<std::uint32_t, 256> kCrc32cTable = [] {
  constexpr std::uint32_t kCastagnoli = 0x82f63b78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCastagnoli : 0);
    table[byte] = crc;
  }
  return table;
}();

inline std::uint32_t masked_crc32c(ByteSpan bytes) {
  constexpr std::uint32_t kMask = 0xa282ead8;
  std::uint32_t crc = ~std::uint32_t{0};
  for (const std::uint8_t byte : bytes) crc = (crc >> 8) ^ kCrc32cTable[(crc ^ byte) & 0xff];
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + kMask;
}

}  // namespace dedupfs
