#include "fs/fuse_open_files.h"

#include <algorithm>

#include "base/check.h"

namespace dedupfs {

std::optional<ReadAhead::Range> ReadAhead::on_read(std::uint64_t offset, std::uint64_t length) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t end = offset + length;
  const bool in_run = offset <= run_end_ + kSlack && end + kSlack >= run_end_;
  if (!in_run) {
    run_bytes_ = 0;
    run_end_ = loaded_end_ = end;
    window_ = kSmallestWindow;
  }
  run_bytes_ += length;
  run_end_ = std::max(run_end_, end);
  loaded_end_ = std::max(loaded_end_, run_end_);

  // Two requests near each other may be chance, and the head of a file is often all that is wanted.
  if (run_bytes_ < 256 * 1024) return std::nullopt;
  const std::uint64_t ahead = loaded_end_ - run_end_;
  if (ahead > window_ / 2) return std::nullopt;
  const Range range{loaded_end_, window_ - ahead};
  loaded_end_ += range.length;
  window_ = std::min(2 * window_, kLargestWindow);
  return range;
}

std::unique_ptr<OpenFile> OpenFiles::open(InodeNumber inode, bool direct, bool writer) {
  auto file = std::make_unique<OpenFile>();
  file->inode = inode;
  file->direct = direct;
  file->writer = writer;

  const std::lock_guard lock(mutex_);
  std::shared_ptr<InodeUse>& use = inodes_[inode];
  if (!use) use = std::make_shared<InodeUse>();
  ++(direct ? use->direct : use->cached);
  use->writers += writer;
  if (use->direct > 0 && use->cached > 0) use->invalidate_writes = true;
  file->use = use;
  return file;
}

void OpenFiles::close(std::unique_ptr<OpenFile> file) {
  const std::lock_guard lock(mutex_);
  const auto found = inodes_.find(file->inode);
  DEDUPFS_CHECK(found != inodes_.end());
  InodeUse& use = *found->second;
  --(file->direct ? use.direct : use.cached);
  use.writers -= file->writer;
  if (use.direct == 0) use.invalidate_writes = false;
  if (use.direct == 0 && use.cached == 0) inodes_.erase(found);
}

bool OpenFiles::has_writer(InodeNumber inode) const {
  const std::lock_guard lock(mutex_);
  const auto found = inodes_.find(inode);
  return found != inodes_.end() && found->second->writers > 0;
}

void OpenFiles::invalidate_writes(InodeNumber inode) {
  const std::lock_guard lock(mutex_);
  const auto found = inodes_.find(inode);
  if (found != inodes_.end() && found->second->direct > 0) found->second->invalidate_writes = true;
}

}  // namespace dedupfs
