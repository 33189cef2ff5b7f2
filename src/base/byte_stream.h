// Streams of bytes that are longer than memory: who takes one, and who gives one.
//
// Threads: one caller at a time.
// Failure: an Error of either ends the stream, which is incomplete then.
#pragma once

#include <cstddef>
#include <functional>

#include "base/bytes.h"
#include "base/go_on.h"
#include "base/result.h"

namespace dedupfs {

// Takes the next bytes, all of them.
using StreamSink = std::function<Result<void>(ByteSpan bytes)>;
// Puts the next bytes at the front of `room`, which is not empty, and returns their number. 0: the end of the stream.
using StreamSource = std::function<Result<std::size_t>(MutableByteSpan room)>;
// The same for one that may have to wait long for bytes: meanwhile it asks `still_wanted`, and ends with its Error.
using WaitingSource = std::function<Result<std::size_t>(MutableByteSpan room, const GoOn& still_wanted)>;

}  // namespace dedupfs
