// Any bytes as a superblock, as they are and with a checksum that is right; and as a compression.
#include <fmt/format.h>
#include <xxhash.h>

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/check.h"
#include "store/format/superblock.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dedupfs;
  const std::string_view text = text_of({data, size});
  (void)decode_superblock(text);

  const std::string sealed =
      fmt::format("{}\"checksum\": \"{:016x}\"\n}}\n", text, XXH3_64bits(text.data(), text.size()));
  if (const auto superblock = decode_superblock(sealed)) {
    const auto again = decode_superblock(encode_superblock(*superblock));
    DEDUPFS_CHECK(again && again->uuid == superblock->uuid && again->chunker == superblock->chunker);
  }

  if (const auto compression = parse_compression(text)) {
    const auto again = parse_compression(format_compression(*compression));
    DEDUPFS_CHECK(again && *again == *compression);
  }
  return 0;
}
