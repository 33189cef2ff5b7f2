// SHA-256 of chunks (hash/sha256.h).
//
// Threads: from any thread.
#pragma once

#include <span>
#include <vector>

#include "base/bytes.h"
#include "store/format/types.h"

namespace dedupfs {

Fingerprint fingerprint_of(ByteSpan chunk);

// Those of all chunks, in order. Faster than one by one: where a list is at hand, use this.
std::vector<Fingerprint> fingerprints_of(std::span<const ByteSpan> chunks);

}  // namespace dedupfs
