// Attributes: what stat shows and what chmod, chown, utimes and truncate change.
#include "fs/namespace/filesystem.h"
#include "fs/namespace/filesystem_state.h"

namespace dedupfs {
namespace {

constexpr std::int64_t kAccessGranularitySeconds = 24 * 60 * 60;

// As the kernel's relatime: so that mail readers and backup tools see whether a file was read since it changed.
bool needs_new_atime(const Attributes& attributes, const Timestamp& now, FilesystemOptions::Atime policy) {
  switch (policy) {
    case FilesystemOptions::Atime::kNever: return false;
    case FilesystemOptions::Atime::kAlways: return true;
    case FilesystemOptions::Atime::kRelative: break;
  }
  return attributes.atime <= attributes.mtime || attributes.atime <= attributes.ctime ||
         now.seconds - attributes.atime.seconds >= kAccessGranularitySeconds;
}

bool changes_nothing(const AttributeChanges& changes) {
  return !changes.mode && !changes.uid && !changes.gid && !changes.size && !changes.atime && !changes.mtime &&
         !changes.ctime;
}

}  // namespace

Attributes FilesystemState::attributes_of(const Inode& inode) {
  Attributes attributes = inode.record.attributes;
  if (inode.content != nullptr) {
    attributes.size = inode.content->size();
    attributes.data_bytes = inode.content->data_bytes();
  }
  return attributes;
}

void FilesystemState::put_record(Inode& inode) {
  inode.record.attributes = attributes_of(inode);
  if (inode.content != nullptr) inode.record.attributes.data_bytes = inode.content->stored_data_bytes();
  metadata.put(Family::kInodes, encode_inode_key(inode.number), encode_inode(inode.record));
}

void FilesystemState::note_access(const InodePtr& inode) {
  if (options.atime == FilesystemOptions::Atime::kNever || !check_writable(inode->number)) return;
  const Timestamp now = Timestamp::now();
  {
    const std::lock_guard lock(inode->mutex);
    if (!needs_new_atime(inode->record.attributes, now, options.atime)) return;
  }
  const Change change(*this);
  const std::lock_guard lock(inode->mutex);
  if (inode->unlinked) return;
  inode->record.attributes.atime = now;
  put_record(*inode);
}

Result<Attributes> Filesystem::attributes(InodeNumber number) {
  DEDUPFS_ASSIGN(const InodePtr inode, state_->table.get(number));
  const std::lock_guard lock(inode->mutex);
  return FilesystemState::attributes_of(*inode);
}

Result<Attributes> Filesystem::set_attributes(InodeNumber number, const AttributeChanges& changes,
                                              const Caller& caller) {
  FilesystemState& state = *state_;
  DEDUPFS_TRY(state.check_writable(number));
  DirtyBudget::Share share;
  if (changes.size && *changes.size != 0) {  // what is left of the chunk at the new end becomes dirty bytes
    DEDUPFS_ASSIGN(share, state.acquire_budget(state.volume->chunker().sizes().max_bytes, nullptr));
  }
  const FilesystemState::Change change(state);
  DEDUPFS_ASSIGN(const InodePtr inode, state.table.get(number));
  if (changes.size) DEDUPFS_TRY(state.resize(inode, *changes.size, caller));
  Attributes result;
  {
    const std::lock_guard lock(inode->mutex);
    if (changes_nothing(changes)) return FilesystemState::attributes_of(*inode);
    Attributes& attributes = inode->record.attributes;
    if (changes.mode) {
      DEDUPFS_TRY(state.update_acl_for_mode(*inode, *changes.mode));
      attributes.mode = type_bits(attributes.mode) | (*changes.mode & kPermissionBits);
      // A truncation: the mode is that of the kernel, which has dropped what it could know of.
      if (changes.size) FilesystemState::drop_set_ids(attributes, caller);
    }
    if (changes.uid) attributes.uid = *changes.uid;
    if (changes.gid) attributes.gid = *changes.gid;
    if (changes.atime) attributes.atime = *changes.atime;
    if (changes.mtime) attributes.mtime = *changes.mtime;
    attributes.ctime = changes.ctime ? *changes.ctime : Timestamp::now();
    state.put_record(*inode);
    result = FilesystemState::attributes_of(*inode);
  }
  if (number == kRootInode && (changes.uid || changes.gid)) state.touch_snapshots_directory();
  return result;
}

}  // namespace dedupfs
