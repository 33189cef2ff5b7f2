// Any value of a segment of a recipe: it decodes to what encodes again, or is kCorruption.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "fs/format/recipe_format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto decoded = dedupfs::decode_segment(dedupfs::text_of({data, size}));
  if (!decoded) {
    DEDUPFS_CHECK(decoded.error().code() == dedupfs::ErrorCode::kCorruption);
    return 0;
  }

  const auto again = dedupfs::decode_segment(dedupfs::encode_segment(*decoded));

  DEDUPFS_CHECK(again && *again == *decoded);
  return 0;
}
