// Evicted containers of a clone: each is made of what the bucket has, with the ranges that stay on a machine (fetched_ranges.h).
//
// Threads: free functions, safe from any thread; several containers at once.
// Failure: as fetched_ranges.h, and that of the folder. What was made stays, and is not made again.
#pragma once

#include <string>

#include "base/backing.h"
#include "replica/eviction/fetched_ranges.h"
#include "replica/head.h"

namespace dedupfs {

// `evicted`: the folder of evicted containers, of a volume that nobody has open. Does nothing if the container is there.
Result<void> make_evicted(BackingFolder& evicted, const std::string& name, const RemoteFile& file,
                          const FetchedFrom& from);
// Before that: removes all from the folder but what make_evicted() has made of these files.
Result<void> remove_other_evicted(BackingFolder& evicted, const RemoteFiles& files);

}  // namespace dedupfs
