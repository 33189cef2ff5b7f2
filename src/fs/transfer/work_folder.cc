#include "fs/transfer/work_folder.h"

#include "fs/format/mode.h"
#include "fs/transfer/received_folder.h"
#include "fs/transfer/stream_changes.h"

namespace dedupfs::transfer {
namespace {

// A stream may have such a folder in it, of what its sender was receiving.
std::string name_for(const SnapshotIdentity& of) {
  return std::string(kWorkFolderPrefix) + of.uuid;
}

}  // namespace

Result<void> remove_entries(Filesystem& filesystem, InodeNumber directory, const NamedEntries& entries) {
  for (const auto& [name, is_folder] : entries)
    DEDUPFS_TRY(is_folder ? filesystem.remove_directory(directory, name) : filesystem.unlink(directory, name));
  return {};
}

Result<std::optional<WorkFolder>> WorkFolder::find(Filesystem& filesystem, InodeNumber folder,
                                                   const SnapshotIdentity& of) {
  WorkFolder work(filesystem, folder, name_for(of));
  const auto found = find_entry(filesystem, folder, work.name_);
  if (!found && found.error().code() == ErrorCode::kNotFound) return std::optional<WorkFolder>();
  if (!found) return found.error();
  work.inode_ = found->inode;
  return std::optional(std::move(work));
}

Result<WorkFolder> WorkFolder::make(Filesystem& filesystem, InodeNumber folder, const SnapshotIdentity& of) {
  WorkFolder work(filesystem, folder, name_for(of));
  DEDUPFS_ASSIGN(const Attributes made, filesystem.make_directory(folder, work.name_, 0700, {}));
  filesystem.forget(made.inode, 1);
  work.inode_ = made.inode;
  return work;
}

Result<void> WorkFolder::empty() {
  NamedEntries left;
  DEDUPFS_TRY(filesystem_->read_directory(inode_, 0, /*counted=*/false, [&](const DirectoryEntry& entry) {
    if (entry.name != "." && entry.name != ".." && entry.name != StreamChanges::kFileName)
      left.emplace_back(std::string(entry.name), is_directory(entry.attributes.mode));
    return true;
  }));
  return remove_entries(*filesystem_, inode_, left);
}

Result<void> WorkFolder::remove() {
  DEDUPFS_TRY(empty());
  const auto unlinked = filesystem_->unlink(inode_, StreamChanges::kFileName);
  if (!unlinked && unlinked.error().code() != ErrorCode::kNotFound) return unlinked.error();
  return filesystem_->remove_directory(folder_, name_);
}

}  // namespace dedupfs::transfer
