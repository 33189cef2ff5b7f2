#include "mount/fuse/fuse_mount.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>

namespace dedupfs {

void FuseMount::negotiate(fuse_conn_info& connection) {
  kernel_minor_ = connection.proto_minor;
  const auto want = [&connection](unsigned capability, bool wanted = true) {
    connection.want = wanted ? connection.want | (connection.capable & capability) : connection.want & ~capability;
  };
  want(FUSE_CAP_POSIX_ACL | FUSE_CAP_DONT_MASK | FUSE_CAP_EXPORT_SUPPORT | FUSE_CAP_PARALLEL_DIROPS |
       FUSE_CAP_ASYNC_READ | FUSE_CAP_ASYNC_DIO | FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_READDIRPLUS |
       FUSE_CAP_READDIRPLUS_AUTO);
  // The kernel truncates by SETATTR instead, and clears set-user-id bits with it, as on writes.
  want(FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_HANDLE_KILLPRIV, false);
  // Pages are dropped when and where content changes behind the kernel's back, not whenever a time stamp did.
  want(FUSE_CAP_AUTO_INVAL_DATA, false);
  // Writes must reach the chunker in order and be counted against the cap of dirty memory.
  want(FUSE_CAP_WRITEBACK_CACHE, false);
  want(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE, false);
#ifdef FUSE_CAP_OVER_IO_URING
  // Its requests cannot be interrupted, and one that waits holds up others: docs/benchmarks.md, "Ways to the kernel".
  want(FUSE_CAP_OVER_IO_URING, false);
#endif
  connection.max_write = 1 << 20;
  connection.max_readahead = static_cast<unsigned>(std::max<std::uint64_t>(1 << 20, options_.read_ahead_bytes));
  connection.max_background = 64;
  connection.congestion_threshold = 48;
  const MutexLock lock(session_mutex_);
  connection_ = kernel_connection_of(connection, protocol_);
}

bool FuseMount::opens_directly(InodeNumber inode, int flags) {
  if (options_.direct_io != DirectIo::kWriteOnly || (flags & O_ACCMODE) != O_WRONLY)
    return options_.direct_io == DirectIo::kAll;
  const auto attributes = filesystem_->attributes(inode);
  if (!attributes || !opens_directly(*attributes, flags)) return false;
  return !filesystem_->get_xattr(inode, "security.capability");
}

bool FuseMount::opens_directly(const Attributes& made, int flags) const {
  if (options_.direct_io != DirectIo::kWriteOnly) return options_.direct_io == DirectIo::kAll;
  // The first write to a privileged file clears its privileges. Writes through the cache do that without us.
  return (flags & O_ACCMODE) == O_WRONLY && (made.mode & (S_ISUID | S_ISGID)) == 0;
}

Result<void> FuseMount::sync() {
  DEDUPFS_TRY(filesystem_->sync());
  return replicate_();
}

Result<void> FuseMount::sync_file(InodeNumber inode) {
  DEDUPFS_TRY(filesystem_->sync_file(inode));
  return replicate_();
}

void FuseMount::invalidate(const ContentRange& range) {
  // Fails if the kernel does not know the inode any more; then it has no pages of it, either.
  fuse_lowlevel_notify_inval_inode(session_, range.inode, static_cast<off_t>(range.offset),
                                   static_cast<off_t>(range.length));
}

void FuseMount::invalidate(const std::vector<ChangedName>& changed) {
  const MutexLock lock(session_mutex_);
  if (session_ == nullptr) return;
  for (const auto& [inode, name] : changed) {
    if (name)
      fuse_lowlevel_notify_inval_entry(session_, inode, name->c_str(), name->size());
    else
      invalidate(ContentRange{inode});
  }
}

}  // namespace dedupfs
