#include "index/table_format.h"

#include <xxhash.h>

#include <array>

#include "index/masked_crc32c.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kTableMagic = 0x88e241b785f4cff7;
constexpr std::uint32_t kOldestTableFormat = 2;  // before, blocks did not say how large they are without compression
constexpr std::uint32_t kNewestTableFormat = 5;

// The last byte is not in the hash.
std::uint32_t modified_xxh3(ByteSpan bytes) {
  constexpr std::uint32_t kModifier = 0x6b9083d9;
  return static_cast<std::uint32_t>(XXH3_64bits(bytes.data(), bytes.size() - 1)) ^ bytes.back() * kModifier;
}

}  // namespace

bool is_table(std::string_view name) {
  return name.ends_with(".sst") || name.ends_with(".ldb");  // as LevelDB called them
}

BlockHandle read_handle(Decoder& decoder) {
  const std::uint64_t offset = decoder.varint();
  return {offset, decoder.varint()};
}

bool lies_within(const BlockHandle& handle, std::uint64_t table_bytes) {
  return handle.offset <= table_bytes && handle.bytes <= table_bytes &&
         handle.bytes + kTableTrailerBytes <= table_bytes - handle.offset;
}

Result<TableFooter> read_footer(const BackingFile& table, std::uint64_t table_bytes) {
  const Error unknown{ErrorCode::kCorruption, table.path().string() + ": is no table of an index of dedupfs"};
  if (table_bytes < kTableFooterBytes) return unknown;
  std::array<std::uint8_t, kTableFooterBytes> bytes{};
  DEDUPFS_TRY(table.read(table_bytes - kTableFooterBytes, bytes));
  Decoder decoder{ByteSpan(bytes)};
  TableFooter footer;
  footer.checksum = decoder.u8();
  footer.directory = read_handle(decoder);
  footer.index = read_handle(decoder);
  Decoder end(ByteSpan(bytes).last(12));
  const std::uint32_t format = end.u32();
  if (end.u64() != kTableMagic || format < kOldestTableFormat || format > kNewestTableFormat || !decoder.ok())
    return unknown;
  return footer;
}

bool checksum_fits(std::uint8_t kind, ByteSpan block_with_trailer) {
  constexpr std::uint8_t kCrc32c = 1, kXxh32 = 2, kXxh64 = 3, kXxh3 = 4;
  const ByteSpan bytes = block_with_trailer.first(block_with_trailer.size() - kTableTrailerBytes + 1);  // with the type
  const std::uint32_t stated = Decoder(block_with_trailer.last(4)).u32();
  switch (kind) {
    case kCrc32c: return stated == masked_crc32c(bytes);
    case kXxh32: return stated == XXH32(bytes.data(), bytes.size(), 0);
    case kXxh64: return stated == static_cast<std::uint32_t>(XXH64(bytes.data(), bytes.size(), 0));
    case kXxh3: return stated == modified_xxh3(bytes);
    default: return true;
  }
}

}  // namespace dedupfs
