// The two ends of a stream of bytes: a pipe, a socket, a file, memory.
#pragma once

#include <cstddef>
#include <functional>

#include "base/bytes.h"
#include "base/result.h"

namespace dedupfs {

// Takes all of the bytes, or gives an Error.
using StreamSink = std::function<Result<void>(ByteSpan bytes)>;
// Fills the beginning of `room`, at least one byte of it, and gives how much came. 0: the end.
using StreamSource = std::function<Result<std::size_t>(MutableByteSpan room)>;

}  // namespace dedupfs
