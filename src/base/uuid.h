// Universally unique identifiers (RFC 4122), as text of 8-4-4-4-12 hexadecimal digits and as 16 bytes.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace dedupfs {

using UuidBytes = std::array<std::uint8_t, 16>;

std::string make_uuid();  // random, version 4
bool is_uuid(std::string_view text);

std::string uuid_of(const UuidBytes& bytes);
// Of a text that is one.
UuidBytes bytes_of_uuid(std::string_view uuid);

}  // namespace dedupfs
