// Runs the programs of a folder, such as /etc/dedupfs/event.d, for an event: one after the other, in the order of their names.
//
// A program gets the event in its environment (DEDUPFS_EVENT, DEDUPFS_VOLUME, DEDUPFS_MOUNTPOINT, DEDUPFS_MESSAGE, DEDUPFS_TIME), as a
// JSON object on its standard input, and nothing of it on its command line. The rest of its environment is PATH and LANG.
// Values have no control characters; a shell script that quotes its variables can take them as they are.
//
// Threads: none may be started before: it forks.
// Failure: a program that fails, or runs longer than the limit and is killed with its process group, is reported. The others run.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/backing.h"
#include "mount/events/event.h"

namespace dedupfs {

// Where the standard output of the programs goes: that of this process may be for something else.
enum class HookOutput { kStandardOutput, kStandardError };

// A line for each failure. A missing folder is none. Links are followed first. Not run, and a failure: an executable file that others than root or this
// user can change, itself or a folder on the way to it; the same for the folder. A program that made a session of its own outlives the limit. Skipped: files that are not executable, and names that are hidden or end in '~' or
// as files of dpkg and rpm do.
std::vector<std::string> run_event_hooks(const Path& folder, const Event& event, std::chrono::milliseconds limit,
                                         HookOutput output = HookOutput::kStandardOutput);

// The document that a program gets.
nlohmann::json event_json(const Event& event, std::int64_t unix_seconds);

}  // namespace dedupfs
