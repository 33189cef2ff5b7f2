// The lock of a volume, which keeps out who would write to it at the same time.
//
// Threads: a free function, safe from any thread.
// Failure: kBusy names the process that has the volume.
#pragma once

#include <memory>

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs {

// Held until the file is closed; shared by those who only read. Null: nobody ever wrote there, and a reader makes no lock.
Result<std::unique_ptr<BackingFile>> take_lock(BackingFolder& volume, bool read_only);

}  // namespace dedupfs
