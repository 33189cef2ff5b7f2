// Options and answers of snapshots. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "fs/format/types.h"
#include "store/metadata/snapshot_list.h"

namespace dedupfs {

// The users that can enter `.snapshots`: everybody, by the permissions inside; only the owner of the root directory and root;
// nobody.
enum class SnapshotAccess { kVisible, kOwner, kHidden };

// A change by a rollback: of the inode, or of the entry with this name in it.
struct ChangedName {
  InodeNumber inode = 0;
  std::optional<std::string> name;
};

// Says what is wrong with a new snapshot, whose tree does not change any more, before anybody sees it.
using JudgeSnapshot = std::function<Result<void>(const SnapshotRecord& snapshot)>;

}  // namespace dedupfs
