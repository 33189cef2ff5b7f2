// Extended attributes, and the effects of POSIX access control lists on modes.
//
// Threads:   set(), get(), list() and remove() from any thread, without locks. The others within a Change, with the inodes
//            locked.
// Ownership: all constructor arguments must outlive it.
// Failure:   errors as in the system calls; kCorruption for access lists that do not parse.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fs/format/types.h"
#include "fs/inodes/inode_table.h"
#include "fs/namespace/filesystem_types.h"
#include "fs/transactions/space_guard.h"
#include "fs/transactions/transactions.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

class Xattrs {
 public:
  Xattrs(Metadata& metadata, InodeTable& table, Transactions& transactions, SpaceGuard& space)
      : metadata_(metadata), table_(table), transactions_(transactions), space_(space) {}

  Result<void> set(InodeNumber number, std::string_view name, std::string_view value, XattrMode mode,
                   const Caller& caller);
  Result<std::string> get(InodeNumber number, std::string_view name);
  Result<std::vector<std::string>> list(InodeNumber number);
  Result<void> remove(InodeNumber number, std::string_view name);

  // The mode of `child` is the requested one. A directory passes its default list on. Without such a list, the umask counts.
  Result<void> inherit_acls(const Inode& directory, Inode& child, const Caller& caller)
      DEDUPFS_REQUIRES(directory.mutex, child.mutex);
  // chmod(2) to `mode`.
  Result<void> update_acl_for_mode(Inode& inode, std::uint32_t mode) DEDUPFS_REQUIRES(inode.mutex);

 private:
  Result<std::optional<std::string>> find(const Inode& inode, std::string_view name) const
      DEDUPFS_REQUIRES(inode.mutex);
  void put(Inode& inode, std::string_view name, std::string value) DEDUPFS_REQUIRES(inode.mutex);
  Result<void> erase(Inode& inode, std::string_view name) DEDUPFS_REQUIRES(inode.mutex);

  Metadata& metadata_;
  InodeTable& table_;
  Transactions& transactions_;
  SpaceGuard& space_;
};

}  // namespace dedupfs
