// A copy of a volume that is older than the newest head of its bucket, since another machine writes there. It takes the bucket over all the
// same: it is brought to the newest head while the other machine goes on, then the bucket is claimed, which ends what the other machine
// ships, and what that put in between is fetched last.
//
// The folder is an unfinished clone meanwhile, and no volume. Whatever ends this, the same call goes on with it.
//
// Threads: one.
// Failure: kFenced: the folder is no copy, or was changed since it was cloned, so something of it would be lost. kBusy: yet another machine
//          takes over. Otherwise as clone_replica().
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/backing.h"
#include "replica/clone.h"
#include "replica/remote_file.h"
#include "replica/shipper.h"

namespace dedupfs::tools {

struct OlderCopy {
  Path path;
  RemoteRecord record;  // gets the new position
  std::string who;
  Shipper::Settings shipping;
  CloneSettings cloning;
};

// The record of a copy that an earlier call left unfinished. Nothing: there is none in that folder.
Result<std::optional<RemoteRecord>> find_unfinished_copy(const Path& path);
// `folder` shows evicted containers in their place; null for an unfinished copy. `lock`: that of the volume; given back in the middle.
Result<void> take_over_with(OlderCopy& copy, Bucket& bucket, BackingFolder* folder, std::shared_ptr<const void>& lock);

}  // namespace dedupfs::tools
