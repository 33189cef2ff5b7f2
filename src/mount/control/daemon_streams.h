// Streams between a tool and the daemon of a mounted volume, from the request to the outcome.
//
// Threads: any; sinks and sources are called on that of the caller.
// Failure: that of the sink or source; that of the daemon; as ControlClient for the rest.
#pragma once

#include <nlohmann/json.hpp>

#include "base/backing.h"
#include "base/byte_stream.h"
#include "base/result.h"
#include "mount/system/patience.h"

namespace dedupfs {

// Gives the sink what the daemon sends, up to the end, and returns the outcome. An Error: the sink may have got a part.
Result<nlohmann::json> stream_from_daemon(const Path& volume, const nlohmann::json& request, const StreamSink& sink,
                                          Patience patience = {});

// Sends the daemon what the source gives, up to its end, and returns the outcome. If the source fails, the daemon gets to know that
// the data is incomplete, and its job has ended on return. If the daemon fails while the source waits, the source is not wanted any more.
Result<nlohmann::json> stream_to_daemon(const Path& volume, const nlohmann::json& request, const WaitingSource& source,
                                        Patience patience = {});

}  // namespace dedupfs
