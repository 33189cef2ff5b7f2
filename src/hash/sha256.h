// SHA-256 (FIPS 180-4).
//
// Threads: free functions, safe from any thread.
#pragma once

#include <array>
#include <span>

#include "base/bytes.h"

namespace dedupfs {

using Sha256Digest = std::array<std::uint8_t, 32>;

Sha256Digest sha256_of(ByteSpan message);

// Writes the digests of the messages to `digests`, which has room for just these, one after the other. Faster than one call for
// each message where the CPU has SHA instructions: two messages go through them side by side. kernel_choice.h says who
// serves; DEDUPFS_ISA=scalar leaves all to OpenSSL.
void sha256_of_each(std::span<const ByteSpan> messages, MutableByteSpan digests);

}  // namespace dedupfs
