#include "fs/transfer/received_folder.h"

#include <fmt/format.h>

#include <utility>

#include "base/printable.h"
#include "fs/format/mode.h"
#include "fs/format/records.h"
#include "fs/snapshots/tree_diff.h"

namespace dedupfs::transfer {
namespace {

constexpr std::size_t kNamedChanges = 5;

std::string without_slashes(std::string path) {
  while (path.starts_with('/')) path.erase(0, 1);
  while (path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

Result<Attributes> find_entry(Filesystem& filesystem, InodeNumber directory, std::string_view name) {
  if (!is_valid_name(name)) return invalid_argument(fmt::format("'{}' cannot be the name of a file", printable(name)));
  DEDUPFS_ASSIGN(const Attributes found, filesystem.lookup(directory, name));
  filesystem.forget(found.inode, 1);
  return found;
}

Result<Attributes> find_path(Filesystem& filesystem, InodeNumber directory, std::string_view path) {
  DEDUPFS_ASSIGN(Attributes found, filesystem.attributes(directory));
  if (path == ".") return found;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    DEDUPFS_ASSIGN(found, find_entry(filesystem, found.inode, path.substr(0, end)));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return found;
}

Result<ReceivedFolder> ReceivedFolder::open(Filesystem& filesystem, const std::string& path, bool make) {
  const std::string clean = without_slashes(path);
  auto found = find_path(filesystem, kRootInode, clean);
  if (!found && found.error().code() == ErrorCode::kNotFound && make) {
    const std::size_t slash = clean.rfind('/');
    const std::string parent = slash == std::string::npos ? std::string() : clean.substr(0, slash);
    DEDUPFS_ASSIGN(const Attributes above, find_path(filesystem, kRootInode, parent));
    const auto made =
        filesystem.make_directory(above.inode, clean.substr(slash == std::string::npos ? 0 : slash + 1), 0755, {});
    if (!made) return made.error().with(printable(path));
    filesystem.forget(made->inode, 1);
    found = *made;
  }
  if (!found) return found.error().with(printable(path));
  if (!is_directory(found->mode)) return Error{ErrorCode::kNotDirectory, printable(path) + " is no folder"};
  if (tree_of(found->inode) != kLiveTree || found->inode == kSnapshotsInode)
    return Error{ErrorCode::kReadOnly, printable(path) + " is in a snapshot"};
  return ReceivedFolder(filesystem, clean, found->inode);
}

Result<std::optional<ReceivedState>> ReceivedFolder::state_of(InodeNumber folder) const {
  const auto text = filesystem_.get_xattr(folder, ReceivedState::kXattr);
  if (!text && text.error().code() == ErrorCode::kNoData) return std::nullopt;
  if (!text) return text.error();
  DEDUPFS_ASSIGN(ReceivedState state, ReceivedState::parse(*text));
  return state;
}

Result<void> ReceivedFolder::note(const ReceivedState& state) const {
  return filesystem_.set_xattr(inode_, ReceivedState::kXattr, state.text(), XattrMode::kSet);
}

Result<std::optional<ReceivedFolder::Copy>> ReceivedFolder::find_copy(const SnapshotIdentity& of) const {
  for (const SnapshotRecord& snapshot : filesystem_.snapshots()) {
    const auto folder = find_path(filesystem_, node_of(snapshot.number, kRootInode), path_);
    if (!folder) continue;  // it was not there yet
    const auto state = state_of(folder->inode);
    if (state && *state && (*state)->is_complete && (*state)->snapshot.is_same(of))
      return Copy{.snapshot = snapshot, .folder = folder->inode};
  }
  return std::nullopt;
}

Result<void> ReceivedFolder::check_unchanged(const Copy& copy, const std::set<std::string>& names) const {
  DEDUPFS_TRY(filesystem_.sync());
  DEDUPFS_ASSIGN(const TreeDiff diff,
                 diff_trees(filesystem_.volume().database(), copy.snapshot.name, std::nullopt, nullptr));
  const auto is_ours = [&](std::string path) {
    if (!path_.empty()) return path.starts_with(path_ + '/');
    return names.contains(path.substr(0, path.find('/')));
  };
  std::string changed;
  std::size_t count = 0;
  for (const TreeChange& change : diff.changes) {
    if (!is_ours(change.path) && (change.old_path.empty() || !is_ours(change.old_path))) continue;
    if (++count <= kNamedChanges) changed += (count == 1 ? "" : ", ") + printable(change.path);
  }
  if (count == 0) return {};
  if (count > kNamedChanges) changed += fmt::format(" and {} more", count - kNamedChanges);
  return Error{ErrorCode::kBusy,
               fmt::format("files were changed here since snapshot '{}' was received: {}. Undo that, for example with "
                           "dedupfs-snapshot rollback, or receive all of the snapshot into another folder",
                           printable(copy.snapshot.name), changed)};
}

}  // namespace dedupfs::transfer
