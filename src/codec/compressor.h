// zstd with one context a thread: making one costs as much as compressing a region.
//
// Threads: free functions, safe from any thread.
// Failure: compressing cannot fail; decompressing gives kCorruption with the reason, or kNoMemory.
#pragma once

#include <cstddef>

#include "base/bytes.h"
#include "base/result.h"

namespace dedupfs {

// The length of the frame in `out`, or 0 where it would not fit.
std::size_t compress(ByteSpan in, MutableByteSpan out, int level);

// A frame that states its content size, which must be that of `out`. Whatever the frame asks for, that is all the memory that
// it gets beside the context.
Result<void> decompress(ByteSpan frame, MutableByteSpan out);

// About how small zstd makes it, quickly: its length at level 1, or its own if that is no less.
std::size_t compressed_size(ByteSpan bytes);

}  // namespace dedupfs
