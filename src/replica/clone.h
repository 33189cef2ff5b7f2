// Makes a volume from what a bucket has of it, and nothing else. It mounts as after a power cut.
//
// Threads: free functions, safe from any thread.
// Failure: as Bucket and the folder; kCorruption names the object that is missing or damaged. What was written stays, without a superblock:
//          it is no volume, and the next clone into the folder goes on with it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/backing.h"
#include "base/go_on.h"
#include "remote/bucket.h"
#include "replica/parallel.h"
#include "replica/replica.h"

namespace dedupfs {

// The file that says so of a folder, with the uuid of the volume. No image of a volume has it.
inline constexpr std::string_view kUnfinishedClone = "clone.new";

struct CloneSettings {
  // Where it is set, no container is written: it gets each one's name instead, and what the head has of it. Several calls at once, from any
  // thread. The folder of evicted containers is his.
  std::function<Result<void>(const std::string& name, const RemoteFile& file, const GoOn& go_on)> leave_container;
  // Both: one call at a time, from any thread.
  GoOn go_on = [] { return Result<void>(); };
  // Or found there, or left in the bucket.
  std::function<void(std::uint64_t bytes)> when_written = [](std::uint64_t) {};
  Parallel parallel;
  // Of which head the folder has the files already. One that is the same in both is not read again.
  const Replica* there = nullptr;
};

// The volume of which a clone was not finished there. Nothing: none was begun.
Result<std::optional<std::string>> find_unfinished_clone(BackingFolder& folder);
// `folder` is empty, or has an unfinished clone of the volume, maybe of an older head: then what is there already is compared with its
// digest, and what differs is read from the bucket. Every byte is compared, and is durable when this returns.
// The caller holds the volume's lock, and calls finish_clone() when all that belongs to the volume is there.
Result<void> clone_replica(Bucket& bucket, const Replica& replica, BackingFolder& folder,
                           const CloneSettings& settings);
Result<void> finish_clone(BackingFolder& folder);

// Whether the folder of a volume has just what a clone of the replica wrote: nobody has changed it since. Reads all but containers, which are
// compared by their length, and superblocks: whoever writes to the volume writes to the index, too. The folder shows evicted containers in
// their place.
Result<bool> is_as_cloned(BackingFolder& folder, const Replica& replica, const GoOn& go_on);
// Makes a whole clone an unfinished one, which clone_replica() brings to another head. remote.json stays.
Result<void> begin_anew(BackingFolder& folder, const std::string& volume);

}  // namespace dedupfs
