#include "fs/transfer/received_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "fs/format/mode.h"
#include "fs/format/records.h"
#include "fs/snapshots/tree_diff.h"
#include "fs/trees/committed_tree.h"
#include "fs/trees/inode_paths.h"

namespace dedupfs::transfer {
namespace {

constexpr std::size_t kNamedChanges = 5;

std::string without_slashes(std::string path) {
  while (path.starts_with('/')) path.erase(0, 1);
  while (path.ends_with('/')) path.pop_back();
  return path;
}

std::string list_of(const std::vector<std::string>& changed) {
  std::string list;
  for (std::size_t i = 0; i < std::min(changed.size(), kNamedChanges); ++i)
    list += (i == 0 ? "" : ", ") + printable(changed[i]);
  if (changed.size() > kNamedChanges) list += fmt::format(" and {} more", changed.size() - kNamedChanges);
  return list;
}

Error changed_while_received(const std::optional<ReceivedFolder::Copy>& base, const std::vector<std::string>& changed) {
  const std::string remedy =
      base ? fmt::format(
                 "Run dedupfs-snapshot rollback with '{}', and receive the stream from its begin, or receive "
                 "all of the snapshot into another folder",
                 printable(base->snapshot.name))
           : "Remove what was received, or receive into another folder";
  return {ErrorCode::kBusy,
          fmt::format("files were changed here while the stream was received: {}. {}", list_of(changed), remedy)};
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
  std::optional<ChangedName> made_name;
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
    made_name = {above.inode, clean.substr(slash == std::string::npos ? 0 : slash + 1)};
  }
  if (!found) return found.error().with(printable(path));
  if (!is_directory(found->mode)) return Error{ErrorCode::kNotDirectory, printable(path) + " is no folder"};
  if (tree_of(found->inode) != kLiveTree || found->inode == kSnapshotsInode)
    return Error{ErrorCode::kReadOnly, printable(path) + " is in a snapshot"};
  ReceivedFolder folder(filesystem, clean, found->inode);
  folder.made_name_ = std::move(made_name);
  return folder;
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
  std::vector<SnapshotRecord> candidates = filesystem_.snapshots();
  std::erase_if(candidates, [&](const auto& one) { return one.created_unix_seconds > of.created_unix_seconds; });
  std::ranges::sort(candidates, std::greater(), &SnapshotRecord::created_unix_seconds);  // most have the sender's date
  for (const SnapshotRecord& snapshot : candidates) {
    const auto folder = find_path(filesystem_, node_of(snapshot.number, kRootInode), path_);
    if (!folder) continue;  // it was not there yet
    const auto state = state_of(folder->inode);
    if (!state || !*state || !(*state)->is_complete || (*state)->snapshot != of) continue;
    if ((*state)->dated_unix_seconds == snapshot.created_unix_seconds)
      return Copy{.snapshot = snapshot, .folder = folder->inode};
  }
  return std::nullopt;
}

Result<void> ReceivedFolder::check_has(const Copy& copy, std::string_view name) const {
  const auto found = find_entry(filesystem_, copy.folder, name);
  if (found) return {};
  if (found.error().code() != ErrorCode::kNotFound) return found.error().with(printable(name));
  return corruption(fmt::format("the stream says that its base has the name '{}', and it has not", printable(name)));
}

Result<void> ReceivedFolder::check_fits(const StreamHeader& stream, const std::optional<ReceivedState>& before) const {
  const bool is_resumed = stream.begin > Position();
  const auto name_of_before = [&] { return printable(before->snapshot.name); };
  if (!before && stream.base)
    return Error{ErrorCode::kNotFound,
                 "nothing was received in the folder, and the stream builds on something: send "
                 "without --since"};
  const bool is_begun = before && before->is_of(stream.snapshot, stream.base) && !before->has_snapshot;
  if (is_resumed && (!is_begun || before->position < stream.begin))
    return Error{ErrorCode::kNotFound,
                 "the stream goes on where no other one ended here: send with the token that "
                 "dedupfs-receive --token prints, or without one"};
  if (!before || is_begun) return {};
  if (!before->has_snapshot)
    return Error{ErrorCode::kBusy,
                 fmt::format("the folder waits for the rest of snapshot '{}': dedupfs-send --resume {}",
                             name_of_before(), before->token().text())};
  if (before->snapshot == stream.snapshot)
    return Error{ErrorCode::kExists, fmt::format("the folder has got snapshot '{}' already", name_of_before())};
  if (!stream.base)
    return Error{ErrorCode::kExists, fmt::format("the folder has snapshot '{}' of volume {}: send with --since, or "
                                                 "receive with --into another folder",
                                                 name_of_before(), before->snapshot.volume)};
  if (before->snapshot != *stream.base)
    return Error{ErrorCode::kBusy,
                 fmt::format("the folder has snapshot '{}' of volume {}, and the stream builds on "
                             "'{}': send since the one that is here",
                             name_of_before(), before->snapshot.volume, printable(stream.base->name))};
  return {};
}

Result<void> ReceivedFolder::check_quotas() const {
  DEDUPFS_ASSIGN(const auto paths, filesystem_.quota_paths());
  for (const auto& [inode, path] : paths) {
    const std::string clean = without_slashes(path);
    if (inode == inode_ || (!path_.empty() && !clean.starts_with(path_ + '/'))) continue;
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("{} has a quota, and a stream may move files into it and out of it, which a quota does not "
                    "allow: set the quota on the folder that is received into, or on none below it",
                    printable(path))};
  }
  return {};
}

bool ReceivedFolder::is_in(const std::string& path, const std::set<std::string>& names) const {
  if (!path_.empty()) return path.starts_with(path_ + '/');
  return names.contains(path.substr(0, path.find('/')));
}

Result<void> ReceivedFolder::walk(const Copy& copy, const std::set<std::string>& names, const VisitEntry& visit) const {
  std::vector<InodeNumber> folders = {copy.folder};
  bool goes_on = true;
  while (goes_on && !folders.empty()) {
    const InodeNumber folder = folders.back();
    folders.pop_back();
    DEDUPFS_TRY(filesystem_.read_directory(folder, 0, /*counted=*/false, [&](const DirectoryEntry& entry) {
      if (entry.name == "." || entry.name == "..") return true;
      if (folder == copy.folder && is_root() && !names.contains(entry.name)) return true;
      if (is_directory(entry.attributes.mode)) folders.push_back(entry.attributes.inode);
      return goes_on = visit(entry.attributes);
    }));
  }
  return {};
}

Result<std::vector<std::string>> ReceivedFolder::changes_since(const Copy& copy, const std::set<std::string>& names,
                                                               const StreamChanges* stream) const {
  DEDUPFS_ASSIGN(const TreeDiff diff,
                 diff_trees(filesystem_.volume().database(), copy.snapshot.name, std::nullopt, nullptr));
  const auto has_finished = [&](InodeNumber inode) { return stream != nullptr && stream->has_finished(inode); };
  const auto has_removed = [&](InodeNumber inode) {
    return has_finished(inode) || (stream != nullptr && stream->has_removed(inode));
  };
  std::vector<std::string> changed;
  std::map<InodeNumber, std::string> elsewhere;  // files with several names, one of which may be in the folder
  for (const TreeChange& change : diff.changes) {
    const bool is_here = is_in(change.path, names);
    if (is_here || (!change.old_path.empty() && is_in(change.old_path, names))) {
      // What is here no more may have names of the receiver's own outside.
      const bool is_gone = change.kind == TreeChange::Kind::kRemoved || !is_here;
      const bool is_the_streams =
          is_gone ? has_removed(change.inode)
                  : has_finished(change.inode) && (change.old_inode == 0 || has_removed(change.old_inode));
      if (!is_the_streams) changed.push_back(change.path);
    } else if (change.kind == TreeChange::Kind::kModified && !is_directory(change.type) && change.old_inode == 0 &&
               !has_removed(change.inode)) {
      const auto attributes = filesystem_.attributes(change.inode);
      if (attributes && attributes->links > 1) elsewhere.emplace(change.inode, change.path);
    }
  }
  if (changed.empty() && !elsewhere.empty())
    DEDUPFS_TRY(walk(copy, names, [&](const Attributes& entry) {
      const auto found = elsewhere.find(inode_of(entry.inode));
      if (found != elsewhere.end()) changed.push_back(found->second);
      return changed.empty();
    }));
  return changed;
}

Result<void> ReceivedFolder::check_unchanged(const Copy& copy, const std::set<std::string>& names) const {
  DEDUPFS_TRY(filesystem_.sync());
  DEDUPFS_ASSIGN(const auto changed, changes_since(copy, names, nullptr));
  if (changed.empty()) return {};
  return Error{ErrorCode::kBusy,
               fmt::format("files were changed here since snapshot '{}' was received: {}. Undo that, for example with "
                           "dedupfs-snapshot rollback, or receive all of the snapshot into another folder",
                           printable(copy.snapshot.name), list_of(changed))};
}

Result<std::vector<std::string>> ReceivedFolder::paths_of(const std::vector<InodeNumber>& inodes) const {
  DEDUPFS_TRY(filesystem_.sync());
  const CommittedTree live = CommittedTree::live(std::make_shared<CommittedState>(filesystem_.volume().database()));
  InodePaths paths(live);
  for (const InodeNumber inode : inodes) paths.want(inode);
  DEDUPFS_TRY(paths.find());
  std::vector<std::string> found;
  found.reserve(inodes.size());
  for (const InodeNumber inode : inodes) found.push_back(paths.path_of(inode));
  return found;
}

Result<Error> ReceivedFolder::changed_meanwhile(const std::optional<Copy>& copy,
                                                const std::vector<InodeNumber>& inodes) const {
  DEDUPFS_ASSIGN(const auto paths, paths_of(inodes));
  return changed_while_received(copy, paths);
}

Result<void> ReceivedFolder::check_changes(const std::optional<Copy>& copy, std::set<std::string> names,
                                           const StreamChanges& stream) const {
  DEDUPFS_TRY(filesystem_.sync());
  DEDUPFS_ASSIGN(const auto inodes, stream.find_changed());
  if (!inodes.empty()) {
    DEDUPFS_ASSIGN(const Error error, changed_meanwhile(copy, inodes));
    return error;
  }
  if (!copy || !stream.knows_all()) return {};
  if (is_root())
    DEDUPFS_TRY(filesystem_.read_directory(inode_, 0, /*counted=*/false, [&](const DirectoryEntry& entry) {
      if (stream.has_finished(entry.attributes.inode)) names.insert(entry.name);
      return true;
    }));
  DEDUPFS_ASSIGN(const auto changed, changes_since(*copy, names, &stream));
  if (changed.empty()) return {};
  return changed_while_received(copy, changed);
}

}  // namespace dedupfs::transfer
