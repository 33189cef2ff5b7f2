// The entries of a block of a table: rocksdb/table/block_based/block_builder.cc.
//
// Threads: free functions, safe from any thread.
// Failure: kCorruption names the fault of the block; the caller knows which block it is.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "index/table_format.h"

namespace dedupfs {

enum class BlockValues : std::uint8_t {
  kBytes,
  kHandles,       // each says where a block lies
  kHandleDeltas,  // the same, as differences from the one before
};

struct BlockEntry {
  std::string_view key;
  ByteSpan value;      // kBytes
  BlockHandle handle;  // otherwise
};

// Calls visit() for each entry in order, until it fails. A block has at least one, and its restart points, where a search begins, are
// entries with whole keys.
Result<void> read_entries(ByteSpan block, BlockValues values,
                          const std::function<Result<void>(const BlockEntry&)>& visit);

// Decompresses a block as it lies in the table, with its trailer. kCorruption if it is compressed in a way that dedupfs does not
// use, or if its length differs from the length that it states.
Result<ByteBuffer> decompress_block(ByteSpan block_with_trailer);

// Whether RocksDB finds within a filter all that it looks for there.
bool is_sound_filter(ByteSpan filter);

}  // namespace dedupfs
