// Lies in the blocks of RocksDB's tables, whose checksums are made right again. Debian's RocksDB is built with assertions: what it
// takes for granted in a block must be judged before.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/coding.h"
#include "hostile/files.h"
#include "hostile/mutations.h"
#include "store/format.h"

namespace dedupfs {
namespace {

using Path = std::filesystem::path;

// rocksdb/table/format.h: behind each block, the type of its compression and a checksum of both.
constexpr std::size_t kTableTrailerBytes = 5;
constexpr std::size_t kMostTableBlockBytes = 64 << 10;

std::uint32_t with_last_byte(std::uint64_t digest, char last) {
  return static_cast<std::uint32_t>(digest) ^ static_cast<std::uint8_t>(last) * 0x6b9083d9U;
}

struct TableBlock {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

// Its length is where the checksum fits.
std::optional<TableBlock> table_block_at(const std::string& table, std::size_t offset) {
  if (table.size() < offset + kTableTrailerBytes) return std::nullopt;
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  const std::size_t most = std::min(kMostTableBlockBytes, table.size() - offset - kTableTrailerBytes);
  for (std::size_t bytes = 1; bytes <= most; ++bytes) {
    XXH3_64bits_update(state.get(), &table[offset + bytes - 1], 1);
    Decoder trailer(std::string_view(table).substr(offset + bytes, kTableTrailerBytes));
    const char type = static_cast<char>(trailer.u8());
    if (trailer.u32() == with_last_byte(XXH3_64bits_digest(state.get()), type)) return TableBlock{offset, bytes};
  }
  return std::nullopt;
}

// They lie back to back.
std::vector<TableBlock> table_blocks_of(const std::string& table) {
  std::vector<TableBlock> blocks;
  while (const auto block = table_block_at(
             table, blocks.empty() ? 0 : blocks.back().offset + blocks.back().bytes + kTableTrailerBytes))
    blocks.push_back(*block);
  return blocks;
}

// Entries as a block has them, the numbers of which say anything.
std::string false_block(std::size_t bytes, Random& random) {
  std::string block;
  Encoder out(block);
  while (block.size() + 40 < bytes) {
    const std::uint64_t key = random.below(20);
    const std::uint64_t value = random.below(20);
    out.varint(random.one_in(4) ? random.below(300) : 0);
    out.varint(random.one_in(8) ? random.number(key) : key);
    out.varint(random.one_in(8) ? random.number(value) : value);
    block += random.bytes(key + value);
  }
  block.resize(bytes, '\0');
  if (bytes >= 8 && !random.one_in(4)) {
    std::string restarts;
    Encoder(restarts).u32(random.one_in(2) ? 0 : static_cast<std::uint32_t>(random.below(bytes)));
    Encoder(restarts).u32(random.one_in(4) ? static_cast<std::uint32_t>(random.any()) : 1);
    block.replace(bytes - restarts.size(), restarts.size(), restarts);
  }
  return block;
}

void change_block(std::string& table, const TableBlock& block, Random& random) {
  char& type = table[block.offset + block.bytes];
  if (type != 0 || random.one_in(3)) {
    table.replace(block.offset, block.bytes, false_block(block.bytes, random));
    if (!random.one_in(8)) type = 0;
  } else {
    for (std::uint64_t i = 1 + random.below(4); i != 0; --i)
      table[block.offset + random.below(block.bytes)] =
          static_cast<char>(random.one_in(2) ? random.below(5) : random.any());
  }
  std::string checksum;
  Encoder(checksum).u32(with_last_byte(XXH3_64bits(table.data() + block.offset, block.bytes), type));
  table.replace(block.offset + block.bytes + 1, checksum.size(), checksum);
}

}  // namespace

std::string mutate_tables(const Path& volume, Random& random) {
  std::vector<Path> tables = files_in(volume / kIndexDirectory);
  std::erase_if(tables, [](const Path& file) { return file.extension() != ".sst"; });
  if (tables.empty()) return "no table";
  const Path& file = random.of(tables);
  std::string table = content_of(file);
  const std::vector<TableBlock> blocks = table_blocks_of(table);
  if (blocks.empty()) return file.filename().string() + " has no block";
  const TableBlock& block = random.of(blocks);
  change_block(table, block, random);
  overwrite(file, table);
  return fmt::format("{}, block at {} of {} bytes", file.filename().string(), block.offset, block.bytes);
}

}  // namespace dedupfs
