// The hold that the mover of chunks has on transaction groups: the old and the new place of a chunk change in one of them.
#pragma once

#include <functional>

#include "base/result.h"

namespace dedupfs {

// Runs `change` so that no transaction group ends within it.
using InGroup = std::function<Result<void>(const std::function<Result<void>()>& change)>;

}  // namespace dedupfs
