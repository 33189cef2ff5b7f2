// The layout of a table of RocksDB, as far as dedupfs must know it to judge one: rocksdb/table/format.h.
//
// Threads: free functions, safe from any thread.
// Failure: kCorruption names the file; reading may fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/backing.h"
#include "base/bytes.h"
#include "base/coding.h"
#include "base/result.h"

namespace dedupfs {

// Whether RocksDB takes a file of the name for a table.
bool is_table(std::string_view name);

inline constexpr std::size_t kTableTrailerBytes = 5;  // behind each block: type of compression, checksum

enum class TableCompression : std::uint8_t {
  kNone = 0,
  kSnappy = 1,
  kZlib = 2,
  kBzip2 = 3,
  kLz4 = 4,
  kLz4Hc = 5,
  kXpress = 6,
  kZstd = 7,
  kOldZstd = 0x40,
};

struct BlockHandle {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // without the trailer

  std::uint64_t end() const { return offset + bytes + kTableTrailerBytes; }
};
BlockHandle read_handle(Decoder& decoder);
// Whether the block lies in the file.
bool lies_within(const BlockHandle& handle, std::uint64_t table_bytes);

struct TableFooter {
  std::uint8_t checksum = 0;  // the kind
  BlockHandle directory;      // the block that says where filters and properties are
  BlockHandle index;
};
inline constexpr std::uint64_t kTableFooterBytes = 53;
// A table of another format than those that RocksDB has made for dedupfs is kCorruption.
Result<TableFooter> read_footer(const BackingFile& table, std::uint64_t table_bytes);

// Whether the checksum in the trailer is that of the block. A kind that nobody knows fits, as it does for RocksDB.
bool checksum_fits(std::uint8_t kind, ByteSpan block_with_trailer);

}  // namespace dedupfs
