// What is parsed of an encrypted volume before anything is authenticated: the key header, any bytes and with a checksum that is
// right. And what is parsed behind a tag, as if somebody had the key: maps of files, the list of the last unmount; a typed
// recovery key.
#include <fmt/format.h>
#include <xxhash.h>

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/check.h"
#include "store/seal/key_header.h"
#include "store/seal/recovery_key.h"
#include "store/seal/volume_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dedupfs;
  const ByteSpan bytes{data, size};
  const std::string_view text = text_of(bytes);
  (void)decode_key_header(text);

  const std::string sealed =
      fmt::format("{}\"checksum\": \"{:016x}\"\n}}\n", text, XXH3_64bits(text.data(), text.size()));
  if (const auto header = decode_key_header(sealed)) {
    DEDUPFS_CHECK(!header->slots.empty() && header->slots.size() <= KeyHeader::kMaxSlots);
    const auto again = decode_key_header(encode_key_header(*header));
    DEDUPFS_CHECK(again && again->uuid == header->uuid && again->slots.size() == header->slots.size());
  }

  constexpr std::uint64_t kFileBytes = std::uint64_t{1} << 40;
  if (const auto map = decode_sealed_map(bytes, kFileBytes)) {
    const std::string encoded = encode_sealed_map(*map);
    const auto again = decode_sealed_map(bytes_of(encoded), kFileBytes);
    DEDUPFS_CHECK(again && again->extents == map->extents && again->segments == map->segments);
  }
  if (const auto record = decode_volume_record(bytes)) {
    const auto again = decode_volume_record(bytes_of(encode_volume_record(*record)));
    DEDUPFS_CHECK(again && again->files == record->files && again->generation == record->generation);
  }
  if (const auto key = tidy_recovery_key(bytes)) DEDUPFS_CHECK(tidy_recovery_key(key->bytes()).has_value());
  return 0;
}
