// Whether long work is still wanted, asked from within it. Whoever waits for the work to end stops it so.
#pragma once

#include <functional>

#include "base/result.h"

namespace dedupfs {

// Walks call it now and then. An Error ends the walk, and is returned.
using GoOn = std::function<Result<void>()>;

}  // namespace dedupfs
