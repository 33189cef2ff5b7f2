// Bytes of a chunk, and what keeps them in memory.
//
// Threads:   a value.
// Ownership: the bytes stay as long as `owner` is held.
#pragma once

#include <memory>

#include "base/bytes.h"

namespace dedupfs {

// Bytes in a shared buffer, for as long as the owner is held.
struct PinnedBytes {
  ByteSpan bytes;
  std::shared_ptr<const void> owner;
};

}  // namespace dedupfs
