#include "fs/namespace/inode_attributes.h"

#include "base/mutex.h"
#include "fs/format/mode.h"
#include "fs/inodes/inode_record.h"

namespace dedupfs {
namespace {

bool changes_nothing(const AttributeChanges& changes) {
  return !changes.mode && !changes.uid && !changes.gid && !changes.size && !changes.atime && !changes.mtime &&
         !changes.ctime;
}

}  // namespace

Result<Attributes> InodeAttributes::get(InodeNumber number) {
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get(number));
  const MutexLock lock(inode->mutex);
  return attributes_of(*inode);
}

Result<Attributes> InodeAttributes::change(InodeNumber number, const AttributeChanges& changes, const Caller& caller) {
  DEDUPFS_TRY(transactions_.check_writable(number));
  DirtyBudget::Share share;
  if (changes.size && *changes.size != 0) {
    DEDUPFS_ASSIGN(share, contents_.acquire_budget_of_chunk());
  }
  const Transactions::Change within(transactions_);
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get(number));
  if (changes.size) DEDUPFS_TRY(contents_.resize(inode, *changes.size, caller));
  Attributes result;
  {
    const MutexLock lock(inode->mutex);
    if (changes_nothing(changes)) return attributes_of(*inode);
    Attributes& attributes = inode->record.attributes;
    if (changes.mode) {
      DEDUPFS_TRY(xattrs_.update_acl_for_mode(*inode, *changes.mode));
      attributes.mode = type_bits(attributes.mode) | (*changes.mode & kPermissionBits);
      // In a truncation the mode comes from the kernel, which has cleared only the set-id bits that it knew of.
      if (changes.size) FileContents::drop_set_ids(attributes, caller);
    }
    if (changes.uid) attributes.uid = *changes.uid;
    if (changes.gid) attributes.gid = *changes.gid;
    if (changes.atime) attributes.atime = *changes.atime;
    if (changes.mtime) attributes.mtime = *changes.mtime;
    attributes.ctime = changes.ctime ? *changes.ctime : Timestamp::now();
    put_record(metadata_, *inode);
    result = attributes_of(*inode);
  }
  if (number == kRootInode && (changes.uid || changes.gid)) snapshots_directory_.update();
  return result;
}

}  // namespace dedupfs
