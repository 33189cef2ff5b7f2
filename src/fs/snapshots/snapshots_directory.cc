#include "fs/snapshots/snapshots_directory.h"

#include <fmt/format.h>

#include <vector>

#include "base/mutex.h"
#include "fs/format/mode.h"
#include "fs/format/records.h"

namespace dedupfs {
namespace {

// Entries of the directory are in the order of their making.
std::uint64_t cookie_of(TreeNumber number) {
  return kFirstCookie + number;
}

}  // namespace

void SnapshotsDirectory::add() {
  InodeRecord record;
  Attributes& attributes = record.attributes;
  attributes.inode = kSnapshotsInode;
  attributes.parent = kRootInode;
  attributes.mode = S_IFDIR | 0755;
  attributes.links = 2;
  attributes.next_cookie = kFirstCookie;
  directory_ = table_.add(record);
  update();
}

void SnapshotsDirectory::update() {
  const std::vector<SnapshotRecord> all = snapshots_.all();
  const Result<InodePtr> root = table_.get(kRootInode);
  Attributes of_root;
  if (root) {
    const MutexLock lock((*root)->mutex);
    of_root = (*root)->record.attributes;
  }
  const MutexLock lock(directory_->mutex);
  Attributes& attributes = directory_->record.attributes;
  if (access_ != SnapshotAccess::kVisible) {
    attributes.mode = S_IFDIR | 0700;
    attributes.uid = of_root.uid;
    attributes.gid = of_root.gid;
  }
  attributes.atime = attributes.mtime = attributes.ctime = Timestamp::now();
  attributes.size = kDirectoryEntryBytes * all.size();
  attributes.links = 2 + static_cast<std::uint32_t>(all.size());
}

Result<void> SnapshotsDirectory::check_visible(InodeNumber number) const {
  if (is_hidden() && (tree_of(number) != kLiveTree || number == kSnapshotsInode))
    return Error{ErrorCode::kStale, "the snapshots are hidden by -o snapshots=hidden"};
  return {};
}

Result<Attributes> SnapshotsDirectory::lookup(std::string_view name) {
  const auto snapshot = snapshots_.find(name);
  if (!snapshot) return Error{ErrorCode::kNotFound, fmt::format("there is no snapshot '{}'", name)};
  const InodeNumber root = node_of(snapshot->number, kRootInode);
  DEDUPFS_TRY(check_visible(root));
  return references_.add(root);
}

Result<void> SnapshotsDirectory::read(std::uint64_t cookie, bool counted,
                                      const std::function<bool(const DirectoryEntry&)>& visit) {
  for (const SnapshotRecord& snapshot : snapshots_.all()) {
    if (cookie_of(snapshot.number) <= cookie) continue;
    DirectoryEntry entry;
    entry.name = snapshot.name;
    entry.cookie = cookie_of(snapshot.number);
    const InodeNumber root = node_of(snapshot.number, kRootInode);
    if (counted) references_.add(entry, kSnapshotsInode, root);
    if (!entry.counted) {
      entry.attributes.inode = root;
      entry.attributes.mode = S_IFDIR;
    }
    if (visit(entry)) continue;
    if (entry.counted) references_.drop(root, 1);  // never an orphan
    return {};
  }
  return {};
}

}  // namespace dedupfs
