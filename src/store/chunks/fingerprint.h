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

// The fingerprints of all chunks, in order. Faster than one call for each chunk.
std::vector<Fingerprint> fingerprints_of(std::span<const ByteSpan> chunks);

}  // namespace dedupfs
