// System calls that a FUSE mount can hold up for ever, as its daemon does not answer: done in a process of their own.
//
// Threads: the caller must have no other thread that holds locks which `call` takes.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "fs/patience.h"

namespace dedupfs {

// What `call` returned, code and message. kInterrupted at the end of the patience: the call may still be done later, or never.
// `what` completes "waiting for ...".
Result<void> do_in_time(const std::string& what, const Patience& patience, const std::function<Result<void>()>& call);

}  // namespace dedupfs
