// Options and answers of snapshots. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fs/format/types.h"

namespace dedupfs {

// Who enters `.snapshots`: everybody, by the permissions inside; the owner of the root directory and root; nobody.
enum class SnapshotAccess { kVisible, kOwner, kHidden };

// What a rollback changed: the inode, or the entry of that name in it.
struct ChangedName {
  InodeNumber inode = 0;
  std::optional<std::string> name;
};

}  // namespace dedupfs
