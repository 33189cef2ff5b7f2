// What an S3 server answers in XML. Its bytes are those of the network, so nothing is believed of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "remote/bucket.h"

namespace dedupfs {

// What Content-Range says of a part: "bytes 0-99/1000". Nothing: it is none, or does not say how large the whole is.
struct S3Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  // the last byte of the part itself
  std::uint64_t total = 0;
};
std::optional<S3Range> parse_s3_range(std::string_view header);
std::optional<std::uint64_t> parse_s3_number(std::string_view text);  // decimal digits, and nothing else

// <Error><Code>…</Code><Message>…</Message></Error>. Empty where there is no such document.
struct S3Error {
  std::string code;
  std::string message;
};
S3Error parse_s3_error(std::string_view text);

// A page of ListObjectsV2.
struct S3Listing {
  std::vector<Bucket::Object> objects;  // names as the server has them, with the prefix
  bool has_more = false;
  std::string continuation;
};
// kCorruption for what is no listing.
Result<S3Listing> parse_s3_listing(std::string_view text);

}  // namespace dedupfs
