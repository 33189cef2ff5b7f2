// Deletes the inodes that have neither a name nor a holder: content, attributes, record; in small steps, so that
// deleting a huge file delays nobody. What is left undone is found again at the next start, since an orphan stands in
// Family::kOrphans until it is gone.
//
// Threads: push() from any thread; step() on the committer's, so never beside the end of a group.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

#include "base/result.h"
#include "fs/namespace/inode_numbers.h"
#include "fs/namespace/inode_table.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

class OrphanReaper {
 public:
  // `dropped`: so many bytes of content went with an inode.
  OrphanReaper(Metadata& metadata, InodeTable& table, InodeNumbers& numbers,
               std::function<void(std::uint64_t bytes)> dropped);

  // Finds those that there are: what an earlier run left behind.
  Result<void> load();
  void push(InodeNumber orphan);
  // True if there is more to do.
  bool step();
  // How many were pushed, and whether the first `count` of them are gone: they go in the order in which they came.
  std::uint64_t pushed() const;
  bool are_gone(std::uint64_t count) const;

 private:
  Result<bool> delete_some(InodeNumber orphan);  // true: it is gone
  Result<bool> erase_xattrs(InodeNumber orphan);

  Metadata& metadata_;
  InodeTable& table_;
  InodeNumbers& numbers_;
  const std::function<void(std::uint64_t)> dropped_;
  mutable std::mutex mutex_;
  std::deque<InodeNumber> orphans_;
  std::uint64_t pushed_ = 0;
};

}  // namespace dedupfs
