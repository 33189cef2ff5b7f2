// Gives inodes of the live tree the names that a stream has, and takes names away: all as numbers of the live tree. What was done before
// an interruption is not done again.
//
// Threads:   one user at a time.
// Ownership: the filesystem must outlive it.
// Failure:   kExists for what is in the way; errors of the filesystem, with the name.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "fs/namespace/filesystem.h"
#include "fs/transfer/records.h"

namespace dedupfs::transfer {

class NameReceiver {
 public:
  // What has no name for a moment goes into the work folder.
  NameReceiver(Filesystem& filesystem, InodeNumber work_folder) : filesystem_(filesystem), work_folder_(work_folder) {}

  Result<void> remove(InodeNumber parent, const std::string& name, InodeNumber inode, bool inode_stays) const;
  Result<void> place(InodeNumber parent, const std::string& name, InodeNumber inode) const;
  Result<InodeNumber> make(InodeNumber parent, const MadeInode& made) const;

  static Error in_the_way(std::string_view name);

 private:
  // What is at this name now. 0: nothing.
  Result<InodeNumber> entry_at(InodeNumber directory, std::string_view name) const;

  Filesystem& filesystem_;
  const InodeNumber work_folder_;
};

}  // namespace dedupfs::transfer
