// What part of a long test is done for each change: one of kShare. scripts/crash-campaign does all and more.
#pragma once

#include <cstdint>

#include "support/sanitized.h"

namespace dedupfs {

inline constexpr std::uint64_t kShare = kSanitized ? 40 : 3;

}  // namespace dedupfs
