// Names: lookup, creation, links and removal.
//
// Threads:   every function from any thread, without locks.
// Ownership: all constructor arguments must outlive it. With returned Attributes, the caller gets a reference to the inode,
//            until the caller drops it (References).
// Failure:   errors as in POSIX; after an error nothing was changed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fs/format/records.h"
#include "fs/format/types.h"
#include "fs/inodes/inode_table.h"
#include "fs/inodes/name_locks.h"
#include "fs/inodes/quota_guard.h"
#include "fs/inodes/references.h"
#include "fs/namespace/access_times.h"
#include "fs/namespace/directory_entries.h"
#include "fs/namespace/inode_maker.h"
#include "fs/snapshots/snapshots_directory.h"
#include "fs/transactions/space_guard.h"
#include "fs/transactions/transactions.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

class Namespace {
 public:
  Namespace(Metadata& metadata, InodeTable& table, NameLocks& names, DirectoryEntries& entries, References& references,
            InodeMaker& maker, Transactions& transactions, SpaceGuard& space, QuotaGuard& quotas,
            SnapshotsDirectory& snapshots_directory, AccessTimes& access_times)
      : metadata_(metadata),
        table_(table),
        names_(names),
        entries_(entries),
        references_(references),
        maker_(maker),
        transactions_(transactions),
        space_(space),
        quotas_(quotas),
        snapshots_directory_(snapshots_directory),
        access_times_(access_times) {}

  // As the functions of Filesystem.
  Result<Attributes> lookup(InodeNumber parent, std::string_view name);
  Result<Attributes> make_node(InodeNumber parent, std::string_view name, std::uint32_t mode, std::uint64_t device,
                               const Caller& caller);
  Result<Attributes> make_directory(InodeNumber parent, std::string_view name, std::uint32_t mode,
                                    const Caller& caller);
  Result<Attributes> make_symlink(InodeNumber parent, std::string_view name, std::string_view target,
                                  const Caller& caller);
  Result<Attributes> make_unnamed(InodeNumber directory, std::uint32_t mode, const Caller& caller);
  Result<Attributes> make_link(InodeNumber number, InodeNumber parent, std::string_view name);
  Result<void> unlink(InodeNumber parent, std::string_view name);
  Result<void> remove_directory(InodeNumber parent, std::string_view name);
  Result<std::string> read_symlink(InodeNumber number);

 private:
  enum class Removes { kDirectories, kAllButDirectories };

  Result<Attributes> reference_by_number(InodeNumber number);
  Result<Attributes> make(InodeNumber parent, std::string_view name, InodeRecord record, const Caller& caller);
  Result<void> remove(InodeNumber parent, std::string_view name, Removes removes);

  Metadata& metadata_;
  InodeTable& table_;
  NameLocks& names_;
  DirectoryEntries& entries_;
  References& references_;
  InodeMaker& maker_;
  Transactions& transactions_;
  SpaceGuard& space_;
  QuotaGuard& quotas_;
  SnapshotsDirectory& snapshots_directory_;
  AccessTimes& access_times_;
};

}  // namespace dedupfs
