// Runs system calls in a process of their own. They hang for ever if they reach a FUSE mount whose daemon does not answer.
//
// Threads: the caller must have no other thread that holds locks which `call` takes.
#pragma once

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <functional>
#include <string>

#include "base/backing.h"
#include "base/result.h"
#include "mount/system/patience.h"

namespace dedupfs {

// Returns the result of `call`. kInterrupted at the time limit: the call may still happen later. `what` completes
// "waiting for ...".
Result<void> do_in_time(const std::string& what, const Patience& patience, const std::function<Result<void>()>& call);
Result<std::string> ask_in_time(const std::string& what, const Patience& patience,
                                const std::function<Result<std::string>()>& call);

// The path without symbolic links, "." and "..".
Result<Path> canonical_in_time(const Path& path);
// stat(2), which follows symbolic links.
Result<struct stat> stat_in_time(const Path& path);
// The same, but of a link itself.
Result<struct stat> lstat_in_time(const Path& path);
Result<struct statvfs> statvfs_in_time(const Path& path, const Patience& patience);

}  // namespace dedupfs
