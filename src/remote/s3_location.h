// Where a bucket is: s3://BUCKET/PREFIX, and the endpoint that serves it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace dedupfs {

struct S3Location {
  std::string endpoint;  // https://host[:port], without a slash at its end
  std::string bucket;
  std::string prefix;  // without slashes at its ends; may be empty
  std::string region;

  std::string name() const;  // s3://bucket/prefix
  // Of an object, below the prefix, as a path-style address. Names may hold any bytes.
  std::string url_of(std::string_view object) const;
  std::string bucket_url() const;
};

// Percent-encoding (RFC 3986) of all bytes but unreserved ones; `keep` are left as they are.
std::string percent_encoded(std::string_view text, std::string_view keep = {});

// kInvalidArgument for what is no such address. Without an endpoint it is that of AWS for the region. Without a region it is us-east-1.
Result<S3Location> parse_s3_location(std::string_view address, std::string_view endpoint, std::string_view region);

}  // namespace dedupfs
