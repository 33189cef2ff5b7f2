#include "fs/inodes/inode_record.h"

#include <optional>
#include <string>

#include "base/mutex.h"
#include "fs/content/file_content.h"
#include "fs/format/mode.h"
#include "fs/format/records.h"

namespace dedupfs {

Attributes attributes_of(const Inode& inode) {
  Attributes attributes = inode.record.attributes;
  if (inode.content != nullptr) {
    attributes.size = inode.content->size();
    attributes.data_bytes = inode.content->data_bytes();
  }
  return attributes;
}

void put_record(Metadata& metadata, Inode& inode) {
  inode.record.attributes = attributes_of(inode);
  if (inode.content != nullptr) inode.record.attributes.data_bytes = inode.content->stored_data_bytes();
  metadata.put(Family::kInodes, encode_inode_key(inode.number), encode_inode(inode.record));
}

InodeNumber parent_of(Inode& directory) {
  if (tree_of(directory.number) != kLiveTree && inode_of(directory.number) == kRootInode) return kSnapshotsInode;
  const MutexLock lock(directory.mutex);
  return directory.record.attributes.parent;
}

Result<InodeNumber> read_parent(const Metadata& metadata, InodeNumber directory) {
  DEDUPFS_ASSIGN(const std::optional<std::string> value, metadata.get(Family::kInodes, encode_inode_key(directory)));
  if (!value) return Error{ErrorCode::kStale, "inode " + std::to_string(directory) + " does not exist"};
  DEDUPFS_ASSIGN(const InodeRecord record, decode_inode(directory, *value));
  if (!is_directory(record.attributes.mode))
    return Error{ErrorCode::kNotDirectory, "inode " + std::to_string(directory) + " is not a directory"};
  return record.attributes.parent;
}

}  // namespace dedupfs
