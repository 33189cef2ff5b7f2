// The results of a move of chunks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "base/result.h"

namespace dedupfs {

// How many chunks moved out of a container.
using MovedChunks = std::map<std::uint32_t, std::uint64_t>;

struct MovedBytes {
  std::uint64_t chunks = 0;
  std::uint64_t bytes = 0;  // of these
};

// Called between batches, with the bytes that moved so far. An Error of it ends the move.
using BetweenBatches = std::function<Result<void>(std::uint64_t bytes)>;

}  // namespace dedupfs
