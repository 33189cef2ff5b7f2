#include "fs/inodes/references.h"

#include <spdlog/spdlog.h>

#include <string>

#include "base/mutex.h"
#include "fs/inodes/inode_record.h"

namespace dedupfs {

Result<Attributes> References::add(InodeNumber number) {
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get(number));
  const MutexLock lock(inode->mutex);
  if (inode->record.attributes.links != 0) {
    table_.reference(number, 1);
  } else if (!table_.reference_if_held(number)) {
    return Error{ErrorCode::kStale, "inode " + std::to_string(number) + " was deleted"};
  }
  return attributes_of(*inode);
}

Attributes References::add(Inode& inode, InodeNumber parent, std::string_view name) {
  const MutexLock lock(inode.mutex);
  table_.reference(inode.number, 1);
  inode.last_parent = parent;
  inode.last_name = name;
  return attributes_of(inode);
}

void References::add(DirectoryEntry& entry, InodeNumber parent, InodeNumber number) {
  const Result<InodePtr> inode = table_.get(number);
  if (!inode) {
    spdlog::error("'{}' in directory {}: {}", entry.name, parent, inode.error().message());
    return;
  }
  entry.attributes = add(**inode, parent, entry.name);
  entry.counted = true;
}

void References::drop(InodeNumber number, std::uint64_t count) {
  if (table_.forget(number, count)) reaper_.note_unlinked(number);
}

}  // namespace dedupfs
