// Tests for the type bits of a mode, and their form in directory entries.
#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace dedupfs {

inline constexpr std::uint32_t kPermissionBits = 07777;

constexpr std::uint32_t type_bits(std::uint32_t mode) {
  return mode & S_IFMT;
}
constexpr bool is_regular(std::uint32_t mode) {
  return type_bits(mode) == S_IFREG;
}
constexpr bool is_directory(std::uint32_t mode) {
  return type_bits(mode) == S_IFDIR;
}
constexpr bool is_symlink(std::uint32_t mode) {
  return type_bits(mode) == S_IFLNK;
}
constexpr bool is_device(std::uint32_t mode) {
  return type_bits(mode) == S_IFCHR || type_bits(mode) == S_IFBLK;
}
constexpr bool is_known_type(std::uint32_t mode) {
  return is_regular(mode) || is_directory(mode) || is_symlink(mode) || is_device(mode) || type_bits(mode) == S_IFIFO ||
         type_bits(mode) == S_IFSOCK;
}

}  // namespace dedupfs
