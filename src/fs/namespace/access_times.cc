#include "fs/namespace/access_times.h"

#include "base/mutex.h"
#include "fs/inodes/inode_record.h"

namespace dedupfs {
namespace {

constexpr std::int64_t kAccessGranularitySeconds = 24 * 60 * 60;

// As the kernel's relatime: mail readers and backup tools can see whether a file was read after its last change.
bool needs_new_atime(const Attributes& attributes, const Timestamp& now, FilesystemOptions::Atime policy) {
  switch (policy) {
    case FilesystemOptions::Atime::kNever: return false;
    case FilesystemOptions::Atime::kAlways: return true;
    case FilesystemOptions::Atime::kRelative: break;
  }
  return attributes.atime <= attributes.mtime || attributes.atime <= attributes.ctime ||
         now.seconds - attributes.atime.seconds >= kAccessGranularitySeconds;
}

}  // namespace

bool AccessTimes::note(const InodePtr& inode) {
  if (policy_ == FilesystemOptions::Atime::kNever || !transactions_.check_writable(inode->number)) return false;
  const Timestamp now = Timestamp::now();
  {
    const MutexLock lock(inode->mutex);
    if (!needs_new_atime(inode->record.attributes, now, policy_)) return false;
  }
  const Transactions::Change change(transactions_);
  const MutexLock lock(inode->mutex);
  if (inode->unlinked) return false;
  inode->record.attributes.atime = now;
  put_record(metadata_, *inode);
  return true;
}

}  // namespace dedupfs
