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
#include "replica/replica.h"

namespace dedupfs {

// The file that says so of a folder, with the uuid of the volume. No image of a volume has it.
inline constexpr std::string_view kUnfinishedClone = "clone.new";

struct CloneSettings {
  // Where it is set, no container is written: it gets each one's name instead, and what the head has of it.
  std::function<Result<void>(const std::string& name, const RemoteFile& file)> leave_container;
  GoOn go_on = [] { return Result<void>(); };
  std::function<void(std::uint64_t bytes)> when_written = [](std::uint64_t) {};  // or found there
};

// The volume of which a clone was not finished there. Nothing: none was begun.
Result<std::optional<std::string>> find_unfinished_clone(BackingFolder& folder);
// `folder` is empty, or has an unfinished clone of the volume, maybe of an older head: then what is there already is compared with its
// digest, and what differs is read from the bucket. Every byte is compared, and is durable when this returns.
// The caller holds the volume's lock, and calls finish_clone() when all that belongs to the volume is there.
Result<void> clone_replica(Bucket& bucket, const Replica& replica, BackingFolder& folder,
                           const CloneSettings& settings);
Result<void> finish_clone(BackingFolder& folder);

// Every object that the replica names. `visit` gets each that is missing or damaged; its Error ends the work. Without `read_all` only the
// sizes are compared, as the store lists them.
struct ReplicaCheck {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bad = 0;
};
Result<ReplicaCheck> check_replica(Bucket& bucket, const Replica& replica, bool read_all, const GoOn& go_on,
                                   const std::function<Result<void>(const Error&)>& visit);

}  // namespace dedupfs
