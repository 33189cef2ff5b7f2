// Reads directories.
//
// Threads:   from any thread, without locks. `visit` runs with the name lock of the directory held, shared.
// Ownership: all constructor arguments must outlive it.
// Failure:   kNotDirectory, kStale; kCorruption for entries that do not parse.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "fs/format/directory_entry.h"
#include "fs/format/types.h"
#include "fs/inodes/inode_table.h"
#include "fs/inodes/name_locks.h"
#include "fs/inodes/references.h"
#include "fs/namespace/access_times.h"
#include "fs/namespace/filesystem_types.h"
#include "fs/snapshots/snapshots_directory.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

class Directories {
 public:
  Directories(const Metadata& metadata, InodeTable& table, NameLocks& names, References& references,
              SnapshotsDirectory& snapshots_directory, AccessTimes& access_times)
      : metadata_(metadata),
        table_(table),
        names_(names),
        references_(references),
        snapshots_directory_(snapshots_directory),
        access_times_(access_times) {}

  // As Filesystem::read_directory().
  Result<void> read(InodeNumber number, std::uint64_t cookie, bool counted,
                    const std::function<bool(const DirectoryEntry&)>& visit, DirectoryStream* stream);

 private:
  const Metadata& metadata_;
  InodeTable& table_;
  NameLocks& names_;
  References& references_;
  SnapshotsDirectory& snapshots_directory_;
  AccessTimes& access_times_;
};

}  // namespace dedupfs
