// Makes a volume from what a bucket has of it, and nothing else. It mounts as after a power cut.
//
// Threads: free functions, safe from any thread.
// Failure: as Bucket and the folder; kCorruption names the object that is missing or damaged. What was written stays, without a superblock:
//          it is no volume.
#pragma once

#include <cstdint>
#include <functional>

#include "base/backing.h"
#include "base/go_on.h"
#include "remote/bucket.h"
#include "replica/replica.h"

namespace dedupfs {

struct CloneSettings {
  GoOn go_on = [] { return Result<void>(); };
  std::function<void(std::uint64_t bytes)> when_written = [](std::uint64_t) {};
};

// `folder` is empty. Every byte is compared with its digest, and is durable when this returns.
Result<void> clone_replica(Bucket& bucket, const Replica& replica, BackingFolder& folder,
                           const CloneSettings& settings);

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
