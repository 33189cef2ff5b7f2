#include "remote/s3_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <pugixml.hpp>

#include "base/printable.h"

namespace dedupfs {
namespace {

constexpr std::size_t kMostNameBytes = 1024;  // of S3
constexpr std::size_t kMostMessageBytes = 300;

// pugixml takes no memory by the word of a document: no entities, no DTD. But it makes an element of 64 bytes of "<a>". A page of a thousand
// objects has less than 20,000 tags.
constexpr std::ptrdiff_t kMostTags = 64 << 10;

Result<void> parse(std::string_view text, pugi::xml_document& document) {
  if (std::ranges::count(text, '<') > kMostTags) return corruption(fmt::format("more than {} tags", kMostTags));
  if (const auto parsed = document.load_buffer(text.data(), text.size()); !parsed)
    return corruption(parsed.description());
  return {};
}

// "2026-11-26T16:20:00.000Z". The time of an object only delays its deletion, so what is no time is now.
std::chrono::system_clock::time_point parse_time(const char* text) {
  std::tm utc{};
  if (strptime(text, "%Y-%m-%dT%H:%M:%S", &utc) == nullptr) return std::chrono::system_clock::now();
  return std::chrono::system_clock::from_time_t(timegm(&utc));
}

}  // namespace

std::optional<std::uint64_t> parse_s3_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<S3Range> parse_s3_range(std::string_view header) {
  constexpr std::string_view kUnit = "bytes ";
  if (!header.starts_with(kUnit)) return std::nullopt;
  header.remove_prefix(kUnit.size());
  const std::size_t dash = header.find('-');
  const std::size_t slash = header.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || dash > slash) return std::nullopt;
  const auto first = parse_s3_number(header.substr(0, dash));
  const auto last = parse_s3_number(header.substr(dash + 1, slash - dash - 1));
  const auto total = parse_s3_number(header.substr(slash + 1));
  if (!first || !last || !total || *first > *last || *last >= *total) return std::nullopt;
  return S3Range{.first = *first, .last = *last, .total = *total};
}

S3Error parse_s3_error(std::string_view text) {
  pugi::xml_document document;
  if (!parse(text, document)) return {};
  const pugi::xml_node error = document.child("Error");
  const auto line = [&](const char* name) {
    return printable(std::string_view(error.child_value(name)).substr(0, kMostMessageBytes));
  };
  return {.code = line("Code"), .message = line("Message")};
}

Result<S3Listing> parse_s3_listing(std::string_view text) {
  pugi::xml_document document;
  if (const auto parsed = parse(text, document); !parsed) return parsed.error().with("a listing that is no XML");
  const pugi::xml_node root = document.child("ListBucketResult");
  if (!root) return corruption("an answer that is no listing");
  S3Listing listing;
  for (const pugi::xml_node object : root.children("Contents")) {
    std::string name = object.child_value("Key");
    const auto size = parse_s3_number(object.child_value("Size"));
    if (name.empty() || name.size() > kMostNameBytes || !size)
      return corruption("a listing with an object without a name or size");
    listing.objects.push_back(
        {.name = std::move(name), .size = *size, .modified = parse_time(object.child_value("LastModified"))});
  }
  listing.has_more = std::string_view(root.child_value("IsTruncated")) == "true";
  listing.continuation = root.child_value("NextContinuationToken");
  if (listing.has_more && listing.continuation.empty())
    return corruption("a listing that has more, but does not say where");
  return listing;
}

}  // namespace dedupfs
