// The definition of SHA-256: OpenSSL's EVP interface, which uses the CPU's SHA instructions for one message at a time.
//
// Threads: from any thread; each keeps one digest context, so that a call costs no allocation.
#pragma once

#include "hash/simd/kernels.h"

namespace dedupfs::sha256 {

extern const Kernels kOpensslKernels;

}  // namespace dedupfs::sha256
