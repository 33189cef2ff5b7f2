// What part of a long test is done where all takes longer: one of kShare.
#pragma once

#include <cstdint>

#include "support/sanitized.h"

namespace dedupfs {

inline constexpr std::uint64_t kShare = kSanitized ? 20 : 1;

}  // namespace dedupfs
