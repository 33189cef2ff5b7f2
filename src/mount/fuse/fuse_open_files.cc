#include "mount/fuse/fuse_open_files.h"

#include <algorithm>

#include "base/check.h"

namespace dedupfs {

std::optional<ReadAhead::Range> ReadAhead::on_read(std::uint64_t offset, std::uint64_t length) {
  const MutexLock lock(mutex_);
  const std::uint64_t end = offset + length;
  const bool in_run = offset <= run_end_ + kSlack && end + kSlack >= run_end_;
  if (!in_run) {
    run_bytes_ = 0;
    run_end_ = loaded_end_ = end;
    window_ = kMinWindow;
  }
  run_bytes_ += length;
  run_end_ = std::max(run_end_, end);
  loaded_end_ = std::max(loaded_end_, run_end_);

  // Two requests near each other may be chance, and programs often read only the head of a file.
  if (run_bytes_ < 256 * 1024) return std::nullopt;
  const std::uint64_t ahead = loaded_end_ - run_end_;
  if (ahead > window_ / 2) return std::nullopt;
  const Range range{loaded_end_, window_ - ahead};
  loaded_end_ += range.length;
  window_ = std::min(2 * window_, kMaxWindow);
  return range;
}

std::unique_ptr<OpenFile> OpenFiles::open(InodeNumber inode, const OpenMode& mode) {
  auto file = std::make_unique<OpenFile>();
  file->inode = inode;
  file->mode = mode;

  const MutexLock lock(mutex_);
  std::shared_ptr<InodeUse>& use = inodes_[inode];
  const bool is_first = !use;
  if (is_first) use = std::make_shared<InodeUse>();
  ++use->handles;
  use->writers += mode.writer;
  file->drops_pages = !use->kernel_caches && (mode.direct || (mode.o_direct && mode.writer));
  // Pages stay behind when a file is closed, so the first handle keeps them unless it drops them.
  const bool fills_pages = !mode.direct && !mode.o_direct;
  if (is_first ? !file->drops_pages : fills_pages) use->note_cached();
  file->use = use;
  return file;
}

void OpenFiles::close(std::unique_ptr<OpenFile> file) {
  const MutexLock lock(mutex_);
  const auto found = inodes_.find(file->inode);
  DEDUPFS_CHECK(found != inodes_.end());  // open() put it there
  InodeUse& use = *found->second;
  use.writers -= file->mode.writer;
  if (--use.handles == 0) inodes_.erase(found);
}

bool OpenFiles::has_writer(InodeNumber inode) const {
  const MutexLock lock(mutex_);
  const auto found = inodes_.find(inode);
  return found != inodes_.end() && found->second->writers > 0;
}

void OpenFiles::note_cached(InodeNumber inode) {
  const MutexLock lock(mutex_);
  const auto found = inodes_.find(inode);
  if (found != inodes_.end()) found->second->note_cached();
}

}  // namespace dedupfs
