#include "base/uuid.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/check.h"

namespace dedupfs {

std::string make_uuid() {
  UuidBytes bytes;
  // The kernel gives so few bytes at once and whole; nobody else has a part in it.
  DEDUPFS_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x40);  // version 4
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);  // of RFC 4122
  return uuid_of(bytes);
}

bool is_uuid(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::ranges::equal(text, kForm, [](char character, char form) {
    return form == '-' ? character == '-' : std::isxdigit(static_cast<unsigned char>(character)) != 0;
  });
}

std::string uuid_of(const UuidBytes& bytes) {
  std::string uuid;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) uuid.push_back('-');
    uuid += fmt::format("{:02x}", bytes[i]);
  }
  return uuid;
}

UuidBytes bytes_of_uuid(std::string_view uuid) {
  DEDUPFS_CHECK(is_uuid(uuid));
  std::string digits(uuid);
  std::erase(digits, '-');
  UuidBytes bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    std::from_chars(digits.data() + 2 * i, digits.data() + 2 * i + 2, bytes[i], 16);
  return bytes;
}

}  // namespace dedupfs
