// Any bytes as a region, as an entry of the chunk index, and as container header and trailer. What decodes must survive
// being encoded again.
//
// The checksums would keep the fuzzer from everything behind them, so it is given a region's parts with the checksums
// made right.
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "codec/zstd_codec.h"
#include "store/chunks/chunk_index.h"
#include "store/format/container_format.h"
#include "store/format/region.h"

namespace dedupfs {
namespace {

void decode_with_right_checksums(ByteSpan input) {
  if (input.size() < 12) return;
  RegionHeader header;
  header.encoding = input[0] % 2 == 0 ? PayloadEncoding::kRaw : zstd_codec().info().encoding;
  header.entries = input[1];
  // Great lengths are rare, since they take long.
  header.payload_length = (std::uint32_t{input[3]} << 8 | input[4]) << (input[2] == 0 ? 8 : 0);
  const std::size_t directory_length = std::min<std::size_t>(std::size_t{input[5]} << 8 | input[6], input.size() - 12);
  const ByteSpan directory = input.subspan(12, directory_length);
  const ByteSpan stored = input.subspan(12 + directory_length);
  header.directory_length = static_cast<std::uint32_t>(directory.size());
  header.stored_length = static_cast<std::uint32_t>(stored.size());
  header.directory_checksum = XXH3_64bits(directory.data(), directory.size());
  header.payload_checksum = XXH3_64bits(stored.data(), stored.size());
  if (header.encoding == PayloadEncoding::kRaw) header.payload_length = header.stored_length;

  const auto entries = decode_region_directory(header, directory);
  const auto payload = decode_region_payload(header, stored);
  if (!entries || !payload || payload->size() != header.payload_length) return;
  std::uint64_t end = 0;
  for (const RegionEntry& entry : *entries) {
    DEDUPFS_CHECK(entry.payload_offset == end);
    end += entry.payload_length;
  }
  if (end != payload->size()) return;
  const std::string encoded = encode_region(*entries, *payload, Compression{.level = 1});
  const auto again = decode_region_header(bytes_of(encoded).first(kRegionHeaderBytes));
  DEDUPFS_CHECK(again && again->disk_length() == encoded.size());
  const auto entries_again =
      decode_region_directory(*again, bytes_of(encoded).subspan(kRegionHeaderBytes, again->directory_length));
  DEDUPFS_CHECK(entries_again && *entries_again == *entries);
}

void decode_as_it_is(ByteSpan input) {
  static_assert(kContainerHeaderBytes == kRegionHeaderBytes && kContainerTrailerBytes == kRegionHeaderBytes);
  if (input.size() < kRegionHeaderBytes) return;
  const ByteSpan first = input.first(kRegionHeaderBytes);
  (void)decode_container_header(first);
  (void)decode_container_trailer(first);
  if (const auto header = decode_region_header(first)) {
    const ByteSpan rest = input.subspan(kRegionHeaderBytes);
    (void)decode_region_directory(*header, rest.first(std::min<std::size_t>(header->directory_length, rest.size())));
    (void)decode_region_payload(*header, rest.last(std::min<std::size_t>(header->stored_length, rest.size())));
  }
}

void decode_as_extent(ByteSpan input) {
  if (input.size() < 8) return;
  const auto extent = decode_extent(text_of(input.first(8)), text_of(input.subspan(8)));
  if (!extent) return;
  const auto again = decode_extent(encode_extent_key(extent->first), encode_extent(*extent));
  DEDUPFS_CHECK(again && *again == *extent);
}

}  // namespace
}  // namespace dedupfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const dedupfs::ByteSpan input(data, size);
  dedupfs::decode_with_right_checksums(input);
  dedupfs::decode_as_it_is(input);
  dedupfs::decode_as_extent(input);
  return 0;
}
