// How far a background job of a daemon is, as everybody may know it who can see the mount.
//
// Threads: the caller must have no other threads: it may fork.
// Failure: as ask_job(); for a user who is not root nor the owner, and for a mount without a control socket, as ask_publicly().
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs {

// `path`: as the caller gave it, in the mount or the folder of `volume`. `job`: "scrub" or "reclaim". Root and the owner get more than others:
// names of files.
Result<nlohmann::json> job_status(const Path& path, const Path& volume, const std::string& job);

}  // namespace dedupfs
