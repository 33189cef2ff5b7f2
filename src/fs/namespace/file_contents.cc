#include "fs/namespace/file_contents.h"

#include <sys/stat.h>

#include <optional>
#include <utility>

#include "base/mutex.h"
#include "fs/inodes/inode_record.h"

namespace dedupfs {

Result<void> FileContents::check_range(std::uint64_t offset, std::uint64_t length) {
  if (offset > kMaxFileBytes || length > kMaxFileBytes - offset)
    return Error{ErrorCode::kTooLarge, "beyond the largest possible file"};
  return {};
}

std::shared_ptr<FileContent> FileContents::for_reading(Inode& inode) {
  const MutexLock lock(inode.mutex);
  if (inode.content == nullptr) {
    const Attributes& attributes = inode.record.attributes;
    inode.content =
        std::make_shared<FileContent>(volume_, budget_, inode.number, attributes.size, attributes.data_bytes);
  }
  return inode.content;
}

std::shared_ptr<FileContent> FileContents::for_change(const InodePtr& inode) {
  {
    const MutexLock lock(inode->mutex);
    table_.mark_dirty(inode);
  }
  return for_reading(*inode);
}

void FileContents::note_modification(Inode& inode, const Caller& caller) {
  const MutexLock lock(inode.mutex);
  Attributes& attributes = inode.record.attributes;
  attributes.mtime = attributes.ctime = Timestamp::now();
  drop_set_ids(attributes, caller);
  settle_charge(inode);
}

// As setattr_should_drop_suidgid() of Linux. The kernel does the same before a write through its cache. But it keeps a
// set-group-id bit if the group cannot execute the file.
void FileContents::drop_set_ids(Attributes& attributes, const Caller& caller) {
  if ((attributes.mode & (S_ISUID | S_ISGID)) == 0 || caller.may_keep_set_ids()) return;
  attributes.mode &= ~std::uint32_t{S_ISUID};
  if ((attributes.mode & S_IXGRP) != 0 || !caller.is_in_group(attributes.gid))
    attributes.mode &= ~std::uint32_t{S_ISGID};
}

Result<DirtyBudget::Share> FileContents::acquire_budget(std::uint64_t bytes, const std::function<bool()>& cancelled) {
  const Result<void> acquired = budget_.acquire(bytes, [&] {
    return writability_.is_aborted() || changes_.storing_fails() || (cancelled != nullptr && cancelled());
  });
  if (acquired) return DirtyBudget::Share::acquired(budget_, bytes);
  DEDUPFS_TRY(writability_.check());
  if (std::optional<Error> error = changes_.store_error()) return std::move(*error);
  return acquired.error();
}

Result<DirtyBudget::Share> FileContents::acquire_budget_of_chunk() {
  return acquire_budget(volume_.chunker().sizes().max_bytes, nullptr);
}

Result<void> FileContents::resize(const InodePtr& inode, std::uint64_t size, const Caller& caller) {
  DEDUPFS_TRY(check_range(size, 0));
  DEDUPFS_TRY(table_.get_file(inode->number));
  if (const Result<void> resized = for_change(inode)->truncate(size); !resized)
    return damage_log_.note(*inode, resized.error());
  note_modification(*inode, caller);
  return {};
}

}  // namespace dedupfs
