#include "index/index_guard.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/coding.h"
#include "index/sealed_manifest.h"
#include "index/table_format.h"

namespace dedupfs {
namespace {

Error damaged(const BackingFile& file, const std::string& what) {
  return {ErrorCode::kCorruption, file.path().string() + ": " + what};
}

// ---------------------------------------------------------------- logs and manifests: rocksdb/db/log_format.h

constexpr std::size_t kFrameBlockBytes = 32 << 10;
constexpr std::size_t kFrameHeaderBytes = 7;
constexpr std::size_t kFrameLengthAt = 4;
constexpr std::size_t kFrameTypeAt = 6;
constexpr std::size_t kRecycledHeaderBytes = 11;
constexpr std::uint8_t kZeroType = 0;
constexpr std::uint8_t kFirstRecycledType = 5;
constexpr std::uint8_t kLastRecycledType = 8;
constexpr std::uint8_t kCompressionType = 9;  // says how what follows is compressed
constexpr std::size_t kCompressionBytes = 4;

// Follows RocksDB's way through a block: an impossible record ends the block, and RocksDB reads the next one.
bool says_compressed(ByteSpan block) {
  for (std::size_t at = 0; at + kFrameHeaderBytes <= block.size();) {
    const std::uint8_t type = block[at + kFrameTypeAt];
    const std::size_t length = Decoder(block.subspan(at + kFrameLengthAt, 2)).u16();
    if (type == kZeroType && length == 0) return false;
    if (type == kCompressionType && length == kCompressionBytes) return true;
    const bool is_recycled = type >= kFirstRecycledType && type <= kLastRecycledType;
    at += (is_recycled ? kRecycledHeaderBytes : kFrameHeaderBytes) + length;
  }
  return false;
}

Result<void> judge_frames(const BackingFile& file) {
  std::vector<std::uint8_t> block(kFrameBlockBytes);
  for (std::uint64_t offset = 0;; offset += block.size()) {
    DEDUPFS_ASSIGN(const std::size_t length, file.read_up_to(offset, block));
    if (says_compressed(ByteSpan(block).first(length)))
      return damaged(file, "its records are compressed, which dedupfs never does");
    if (length < block.size()) return {};
  }
}

// ---------------------------------------------------------------- tables

constexpr std::uint64_t kMaxDirectoryBytes = 1 << 20;

Result<void> judge_handle(const BackingFile& table, std::uint64_t table_bytes, const BlockHandle& handle,
                          std::uint64_t max_bytes) {
  if (handle.bytes > max_bytes)
    return damaged(table, fmt::format("a block of {} bytes, more than any index of dedupfs has", handle.bytes));
  if (!lies_within(handle, table_bytes)) return damaged(table, "a block reaches beyond the end of the file");
  return {};
}

// The block that says where the others are which a table has once: filters, index, properties.
Result<void> judge_directory(const BackingFile& table, std::uint64_t table_bytes, ByteSpan block) {
  Decoder end(block.last(std::min<std::size_t>(block.size(), 4)));
  const std::uint64_t restart_bytes = (std::uint64_t{end.u32()} + 1) * 4;
  if (!end.ok() || restart_bytes > block.size()) return damaged(table, "its directory of blocks is damaged");
  Decoder entries(block.first(block.size() - restart_bytes));
  while (entries.remaining() != 0) {
    entries.varint();  // shared with the key before
    const std::uint64_t key_bytes = entries.varint();
    const std::uint64_t value_bytes = entries.varint();
    entries.bytes(key_bytes);
    Decoder value(entries.bytes(value_bytes));
    const BlockHandle handle = read_handle(value);
    if (!entries.ok()) return damaged(table, "its directory of blocks is damaged");
    if (value.ok()) DEDUPFS_TRY(judge_handle(table, table_bytes, handle, kMaxBlockBytes));
  }
  return {};
}

// How large a block says it is without compression; 0: it is not compressed, or RocksDB will refuse it.
std::uint64_t stated_bytes(ByteSpan block) {
  if (block.size() < kTableTrailerBytes) return 0;
  switch (static_cast<TableCompression>(block[block.size() - kTableTrailerBytes])) {
    case TableCompression::kSnappy:
    case TableCompression::kZlib:
    case TableCompression::kBzip2:
    case TableCompression::kLz4:
    case TableCompression::kLz4Hc:
    case TableCompression::kXpress:
    case TableCompression::kZstd:
    case TableCompression::kOldZstd: break;
    default: return 0;
  }
  Decoder decoder(block.first(block.size() - kTableTrailerBytes));
  const std::uint64_t bytes = decoder.varint();
  return decoder.ok() ? bytes : 0;
}

// ---------------------------------------------------------------- memory

// A page, and behind it one that nobody may touch: before a read RocksDB changes the first byte, so that a file system which
// reads nothing is found out.
void* no_memory() {
  static void* const pages = [] {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const both = ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    // Two pages, once, when the first index is opened: no index decides whether the system has them.
    DEDUPFS_CHECK(both != MAP_FAILED);
    DEDUPFS_CHECK(::mprotect(static_cast<std::uint8_t*>(both) + page, page, PROT_NONE) == 0);
    return both;
  }();
  return pages;
}

}  // namespace

bool is_log(const Path& name) {
  return name.extension() == ".log";
}

Result<void> judge_size(const BackingFile& file) {
  const Path name = file.path().filename();
  const std::uint64_t most = is_log(name)        ? kMaxLogBytesRead
                             : is_manifest(name) ? kMaxManifestBytes
                                                 : kMaxSmallFileBytes;
  DEDUPFS_ASSIGN(const std::uint64_t bytes, file.size());
  if (bytes > most) return damaged(file, fmt::format("has {} bytes, more than any index of dedupfs needs", bytes));
  return {};
}

Result<void> judge_stream(const BackingFile& file) {
  const Path name = file.path().filename();
  DEDUPFS_TRY(judge_size(file));
  return is_log(name) || is_manifest(name) ? judge_frames(file) : Result<void>();
}

Result<void> judge_table(const BackingFile& table) {
  DEDUPFS_ASSIGN(const std::uint64_t bytes, table.size());
  if (bytes < kTableFooterBytes) return {};  // RocksDB says so
  DEDUPFS_ASSIGN(const TableFooter footer, read_footer(table, bytes));
  DEDUPFS_TRY(judge_handle(table, bytes, footer.index, kMaxBlockBytes));
  DEDUPFS_TRY(judge_handle(table, bytes, footer.directory, kMaxDirectoryBytes));
  const std::size_t block_bytes = footer.directory.bytes;
  std::vector<std::uint8_t> block(block_bytes + kTableTrailerBytes);
  DEDUPFS_TRY(table.read(footer.directory.offset, block));
  if (block[block_bytes] != 0) return damaged(table, "its directory of blocks is compressed, which dedupfs never does");
  return judge_directory(table, bytes, ByteSpan(block).first(block_bytes));
}

Result<void> judge_block(const BackingFile& table, ByteSpan block, const BlockMemory& memory) {
  const std::uint64_t bytes = std::max<std::uint64_t>(block.size(), stated_bytes(block));
  if (bytes > kMaxBlockBytes)
    return damaged(table, fmt::format("a block of {} bytes, more than any index of dedupfs has", bytes));
  if (bytes > kLargeBlockBytes && memory.large_blocks_bytes() > kMaxLargeBlocksBytes)
    return damaged(table, fmt::format("too many blocks are as large as {} bytes", bytes));
  return {};
}

void* BlockMemory::Allocate(std::size_t bytes) {
  if (bytes > kMaxBlockBytes) return no_memory();
  void* const block = ::operator new(bytes);
  if (const std::size_t usable = ::malloc_usable_size(block); usable > kLargeBlockBytes) large_blocks_bytes_ += usable;
  return block;
}

void BlockMemory::Deallocate(void* block) {
  if (block == no_memory()) return;
  if (const std::size_t usable = ::malloc_usable_size(block); usable > kLargeBlockBytes) large_blocks_bytes_ -= usable;
  ::operator delete(block);
}

}  // namespace dedupfs
