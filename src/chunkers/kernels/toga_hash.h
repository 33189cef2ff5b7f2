// The hash of Toga (Dude, Hirsch, Toaff: "A fast SIMD-based chunking algorithm", Prague Stringology Conference 2019): the
// data are rows of 64 bytes, and each byte has a hash of its own, over the bytes above it in the same column:
//   hash(i) = b[i] ^ rol(b[i - 64], 1) ^ rol(b[i - 128], 2) ^ ... ^ rol(b[i - 448], 7)
// A rotation by 8 is none, so the row that leaves the window takes no table to remove.
#pragma once

#include <cstddef>

namespace dedupfs {

inline constexpr std::size_t kTogaRowBytes = 64;
inline constexpr std::size_t kTogaRows = 8;
inline constexpr std::size_t kTogaRun = 64;  // hashes in a row that must pass

}  // namespace dedupfs
