// SHA-256 of a chunk, through OpenSSL's EVP interface (which uses the CPU's SHA instructions).
//
// Threads: from any thread; each keeps one digest context, so that a call costs no allocation.
#pragma once

#include "base/bytes.h"
#include "store/format/types.h"

namespace dedupfs {

Fingerprint fingerprint_of(ByteSpan chunk);

}  // namespace dedupfs
