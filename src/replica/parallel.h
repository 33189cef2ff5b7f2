// How many objects are moved at once, and how much memory they may take meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>

#include "replica/head.h"

namespace dedupfs {

struct Parallel {
  std::size_t requests = 1;
  std::uint64_t memory = 2 * kMaxPieceBytes;  // an object that needs more is moved alone
};

inline constexpr std::size_t kDefaultParallel = 4;  // requests, where nobody says otherwise
inline constexpr std::size_t kMostParallel = 64;

}  // namespace dedupfs
