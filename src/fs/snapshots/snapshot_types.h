// Options and answers of snapshots. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fs/format/types.h"

namespace dedupfs {

// The users that can enter `.snapshots`: everybody, by the permissions inside; only the owner of the root directory and root;
// nobody.
enum class SnapshotAccess { kVisible, kOwner, kHidden };

// A change by a rollback: of the inode, or of the entry with this name in it.
struct ChangedName {
  InodeNumber inode = 0;
  std::optional<std::string> name;
};

}  // namespace dedupfs
