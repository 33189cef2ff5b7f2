// Blocks of RocksDB's tables as tests find and change them: rocksdb/table/format.h.
#pragma once

#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/coding.h"
#include "index/table_format.h"

namespace dedupfs {

struct TableBlock {
  std::size_t offset = 0;
  std::size_t bytes = 0;  // without the trailer
};

inline std::uint32_t table_checksum(std::uint64_t digest, char last) {
  return static_cast<std::uint32_t>(digest) ^ static_cast<std::uint8_t>(last) * 0x6b9083d9U;
}

// Its length is where the checksum fits.
inline std::optional<TableBlock> table_block_at(const std::string& table, std::size_t offset) {
  constexpr std::size_t kMaxBytes = 64 << 10;
  if (table.size() < offset + kTableTrailerBytes) return std::nullopt;
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  const std::size_t most = std::min(kMaxBytes, table.size() - offset - kTableTrailerBytes);
  for (std::size_t bytes = 1; bytes <= most; ++bytes) {
    XXH3_64bits_update(state.get(), &table[offset + bytes - 1], 1);
    Decoder trailer(std::string_view(table).substr(offset + bytes, kTableTrailerBytes));
    const char type = static_cast<char>(trailer.u8());
    if (trailer.u32() == table_checksum(XXH3_64bits_digest(state.get()), type)) return TableBlock{offset, bytes};
  }
  return std::nullopt;
}

// They lie back to back.
inline std::vector<TableBlock> table_blocks_of(const std::string& table) {
  std::vector<TableBlock> blocks;
  while (const auto block = table_block_at(
             table, blocks.empty() ? 0 : blocks.back().offset + blocks.back().bytes + kTableTrailerBytes))
    blocks.push_back(*block);
  return blocks;
}

// Makes the checksum of a changed block right.
inline void seal_block(std::string& table, const TableBlock& block) {
  std::string checksum;
  Encoder(checksum).u32(
      table_checksum(XXH3_64bits(table.data() + block.offset, block.bytes), table[block.offset + block.bytes]));
  table.replace(block.offset + block.bytes + 1, checksum.size(), checksum);
}

// What the block is from now on, filled up in front of its end, and not compressed.
inline void set_block(std::string& table, const TableBlock& block, const std::string& begin, const std::string& end) {
  std::string content = begin;
  content.resize(block.bytes - end.size(), '\0');
  table.replace(block.offset, block.bytes, content + end);
  table[block.offset + block.bytes] = 0;
  seal_block(table, block);
}

// The first block has an entry that reaches far beyond it: RocksDB with assertions ends the process that reads it.
inline void make_harmful(std::string& table) {
  set_block(table, table_block_at(table, 0).value(), std::string("\0\x7f\x7f", 3), std::string("\0\0\0\0\1\0\0\0", 8));
}

}  // namespace dedupfs
