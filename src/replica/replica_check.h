// Whether a bucket has all that its newest head names, and putting back what it has lost.
//
// Threads: a free function, safe from any thread.
// Failure: that of the bucket, of the listing and of `visit`. Objects that are missing or damaged are findings.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/backing.h"
#include "base/bytes.h"
#include "base/go_on.h"
#include "remote/bucket.h"
#include "replica/parallel.h"
#include "replica/replica.h"

namespace dedupfs {

struct ReplicaCheck {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bad = 0;       // missing or damaged
  std::uint64_t put_back = 0;  // of them
};

// Fills `out` with what another place has of a file of the head.
using OtherCopy = std::function<Result<void>(const std::string& path, std::uint64_t offset, MutableByteSpan out)>;
// That in the folder of the volume.
OtherCopy files_of(std::shared_ptr<BackingFolder> volume);

struct CheckSettings {
  bool reads_all = false;  // otherwise only the sizes are compared, as the store lists them
  GoOn go_on = [] { return Result<void>(); };
  // One call at a time, here and below, from any thread. Gets what was found, and whether it was put back; its Error ends the check.
  std::function<Result<void>(const Error&, bool is_put_back)> visit = [](const Error&, bool) { return Result<void>(); };
  std::function<void(std::uint64_t bytes)> when_read = [](std::uint64_t) {};
  // Where it has what the head says, a bad object is made anew of it. None: nothing is put back.
  OtherCopy other_copy = {};
  Parallel parallel;
};
Result<ReplicaCheck> check_replica(Bucket& bucket, const Replica& replica, const CheckSettings& settings);

}  // namespace dedupfs
