// Lies in the blocks of RocksDB's tables, whose checksums are made right again. Debian's RocksDB is built with assertions: what it
// takes for granted in a block must be judged before.
#include <fmt/format.h>

#include <algorithm>

#include "base/coding.h"
#include "hostile/files.h"
#include "hostile/mutations.h"
#include "store/format/format.h"
#include "support/table_blocks.h"

namespace dedupfs {
namespace {

using Path = std::filesystem::path;

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
  seal_block(table, block);
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
