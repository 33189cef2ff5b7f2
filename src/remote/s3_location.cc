#include "remote/s3_location.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "remote/bucket.h"

namespace dedupfs {
namespace {

constexpr std::string_view kScheme = "s3://";
constexpr std::size_t kMostPrefixBytes = 100;  // S3 takes names of 1024 bytes
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view kSmallLetters = kLetters.substr(26);

bool is_made_of(std::string_view text, std::string_view some, std::string_view others) {
  return std::ranges::all_of(
      text, [&](char c) { return some.find(c) != std::string_view::npos || others.find(c) != std::string_view::npos; });
}

Error wrong(std::string_view what, std::string_view text, std::string_view why) {
  return invalid_argument(fmt::format("{} \"{}\": {}", what, printable(text), why));
}

std::string_view without_slashes_around(std::string_view text) {
  while (text.starts_with('/')) text.remove_prefix(1);
  while (text.ends_with('/')) text.remove_suffix(1);
  return text;
}

// As all stores take them: https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
bool is_bucket_name(std::string_view name) {
  return name.size() >= 3 && name.size() <= 63 && is_made_of(name, kSmallLetters, ".-") && name[0] != '.' &&
         name[0] != '-' && name.find("..") == std::string_view::npos;
}

Result<std::string> parse_endpoint(std::string_view endpoint) {
  const bool is_plain = endpoint.starts_with("http://");
  if (!is_plain && !endpoint.starts_with("https://"))
    return wrong("endpoint", endpoint, "it begins with https:// or http://");
  const std::string_view host = without_slashes_around(endpoint.substr(endpoint.find("//") + 2));
  if (host.empty()) return wrong("endpoint", endpoint, "a host is missing");
  if (!is_made_of(host, kLetters, ".-_:[]"))
    return wrong("endpoint", endpoint, "it is https://HOST or https://HOST:PORT");
  return fmt::format("{}://{}", is_plain ? "http" : "https", host);
}

}  // namespace

std::string percent_encoded(std::string_view text, std::string_view keep) {
  std::string encoded;
  for (const char c : text) {
    if (is_made_of({&c, 1}, kLetters, "-._~") || keep.find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::string S3Location::name() const {
  return prefix.empty() ? fmt::format("{}{}", kScheme, bucket) : fmt::format("{}{}/{}", kScheme, bucket, prefix);
}

std::string S3Location::bucket_url() const {
  return endpoint + '/' + bucket;
}

std::string S3Location::url_of(std::string_view object) const {
  std::string path = bucket_url();
  if (!prefix.empty()) path += '/' + percent_encoded(prefix, "/");
  return path + '/' + percent_encoded(object, "/");
}

Result<S3Location> parse_s3_location(std::string_view address, std::string_view endpoint, std::string_view region) {
  if (!address.starts_with(kScheme)) return wrong("remote address", address, "it is s3://BUCKET or s3://BUCKET/PREFIX");
  std::string_view rest = address.substr(kScheme.size());
  S3Location location{.endpoint = {},
                      .bucket = std::string(rest.substr(0, rest.find('/'))),
                      .prefix = {},
                      .region = std::string(region.empty() ? "us-east-1" : region)};
  rest.remove_prefix(location.bucket.size());
  location.prefix = without_slashes_around(rest);
  if (!is_bucket_name(location.bucket))
    return wrong("remote address", address,
                 "the name of a bucket has 3 to 63 lower-case letters, digits, dots and hyphens");
  if (location.prefix.size() > kMostPrefixBytes)
    return wrong("remote address", address, fmt::format("its prefix has more than {} bytes", kMostPrefixBytes));
  if (!location.prefix.empty() && !check_object_name(location.prefix))
    return wrong("remote address", address, "a part of its prefix is empty, \".\" or \"..\", or is not plain text");
  if (location.prefix.find('+') != std::string::npos)
    return wrong("remote address", address,
                 "its prefix has a '+', which libcurl 8.14 and newer ones do not sign as stores do");
  if (!is_made_of(location.region, kLetters, "-_"))
    return wrong("region", location.region, "it is a word such as eu-central-1");
  if (endpoint.empty()) {
    location.endpoint = fmt::format("https://s3.{}.amazonaws.com", location.region);
  } else {
    DEDUPFS_ASSIGN(location.endpoint, parse_endpoint(endpoint));
  }
  return location;
}

}  // namespace dedupfs
