// Judges the files of an index before RocksDB uses them. RocksDB trusts sizes in files: it decompresses a block of 64 KiB that claims
// to hold 700 MiB, it reads a sparse IDENTITY of 1 TiB, it accepts a compressed log. The guard refuses files that dedupfs never
// writes. The error is kCorruption, as for any other damage.
//
//   by size       CURRENT, IDENTITY and the like, manifests, logs
//   by frame      records of logs and manifests: none is compressed
//   by block      tables: the size of each block that is read, on disk and decompressed
//
// Tables must be read block by block for this, so RocksDB may read ahead neither by itself nor on request (database_options.cc).
//
// Threads: functions and BlockMemory from any thread.
// Failure: kCorruption names the file.
#pragma once

#include <rocksdb/memory_allocator.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs {

// The largest record that dedupfs writes, the list of damaged chunks, has 10 MiB at most.
inline constexpr std::size_t kMaxBlockBytes = 16 << 20;
inline constexpr std::size_t kLargeBlockBytes = 128 << 10;     // few blocks are larger than this,
inline constexpr std::size_t kMaxLargeBlocksBytes = 96 << 20;  // and those in memory take no more than this together
inline constexpr std::uint64_t kMaxManifestBytes = 16 << 20;   // RocksDB begins a new one at 4 MiB
inline constexpr std::uint64_t kMaxLogBytesRead = std::uint64_t{4} << 30;
inline constexpr std::uint64_t kMaxSmallFileBytes = 64 << 10;

bool is_log(const Path& name);
// Whether a file of its kind, which its name tells, can be as large. Not for tables.
Result<void> judge_size(const BackingFile& file);
// Whether RocksDB may read the file from its beginning to its end.
Result<void> judge_stream(const BackingFile& file);
// Whether RocksDB may open the table: looks at the footer, and at the places of the blocks that come with it.
Result<void> judge_table(const BackingFile& table);
// Judges a block of a table with its trailer, as it was read. `memory` is that of all blocks.
class BlockMemory;
Result<void> judge_block(const BackingFile& table, ByteSpan block, const BlockMemory& memory);

// RocksDB's allocator for blocks. RocksDB asks for the claimed size of a block before the block is judged, and an allocator
// cannot refuse. So every size that judge_block() refuses gets the address of one page, and the memory behind that page is
// inaccessible.
class BlockMemory final : public rocksdb::MemoryAllocator {
 public:
  const char* Name() const override { return "dedupfs.blocks"; }
  void* Allocate(std::size_t bytes) override;
  void Deallocate(void* block) override;

  std::uint64_t large_blocks_bytes() const { return large_blocks_bytes_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> large_blocks_bytes_ = 0;
};

}  // namespace dedupfs
