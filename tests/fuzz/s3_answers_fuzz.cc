// What a server answers that calls itself a store of objects: errors, listings, ranges. And a file of credentials. What is taken keeps its
// promises; what is shown to people is safe on a terminal.
#include <cstdint>

#include "base/bytes.h"
#include "base/check.h"
#include "base/printable.h"
#include "remote/s3_answers.h"
#include "remote/s3_credentials.h"

namespace dedupfs {
namespace {

void fuzz(std::string_view text) {
  const S3Error error = parse_s3_error(text);
  DEDUPFS_CHECK(is_utf8(error.code + error.message) &&
                without_control_characters(error.code + error.message) == error.code + error.message);
  if (const auto listing = parse_s3_listing(text)) {
    DEDUPFS_CHECK(!listing->has_more || !listing->continuation.empty());
    for (const Bucket::Object& object : listing->objects)
      DEDUPFS_CHECK(!object.name.empty() && object.name.size() <= 1024);
  }
  if (const auto range = parse_s3_range(text)) DEDUPFS_CHECK(range->first <= range->last && range->last < range->total);
  if (const auto found = parse_s3_credentials(text, "default"); found && *found)
    DEDUPFS_CHECK(!(*found)->secret_key.empty() &&
                  (*found)->secret_key.text().find_first_of("\r\n") == std::string::npos);
}

}  // namespace
}  // namespace dedupfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = dedupfs::text_of({data, size});
  dedupfs::fuzz(text);
  dedupfs::fuzz("<?xml version=\"1.0\"?><ListBucketResult>" + std::string(text) + "</ListBucketResult>");
  dedupfs::fuzz("<Error><Code>" + std::string(text) + "</Code></Error>");
  return 0;
}
