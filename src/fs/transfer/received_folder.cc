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
#include "fs/trees/named_inode.h"

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

std::string remedy_for(const std::optional<ReceivedFolder::Copy>& base) {
  return base ? fmt::format(
                    "Run dedupfs-snapshot rollback with '{}', and receive the stream from its begin, or receive "
                    "all of the snapshot into another folder",
                    printable(base->snapshot.name))
              : "Remove what was received, or receive into another folder";
}

Error changed_while_received(const std::optional<ReceivedFolder::Copy>& base, const std::vector<std::string>& changed) {
  return {ErrorCode::kBusy, fmt::format("files were changed here while the stream was received: {}. {}",
                                        list_of(changed), remedy_for(base))};
}

// Beside the state. Names have no NUL.
constexpr std::string_view kNamesXattr = "trusted.dedupfs.received_names";

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

Result<std::set<std::string>> ReceivedFolder::received_names(const Copy& copy) const {
  std::set<std::string> names;
  if (!is_root()) return names;
  const auto text = filesystem_.get_xattr(copy.folder, kNamesXattr);
  if (!text && text.error().code() == ErrorCode::kNoData)
    return Error{
        ErrorCode::kNotFound,
        fmt::format("an older dedupfs received '{}' here, and did not note which names of the root folder were "
                    "received: receive all of the snapshot with --into another folder",
                    printable(copy.snapshot.name))};
  if (!text) return text.error();
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('\0'));
    names.emplace(name);
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
  }
  return names;
}

Result<void> ReceivedFolder::check_length_of_names(std::size_t bytes) {
  if (bytes <= kMaxXattrValue) return {};
  return Error{ErrorCode::kTooLarge,
               fmt::format("the names in the sender's root folder have more than {} bytes, and the receiver notes them "
                           "when it receives into the root of a volume: receive with --into a folder",
                           kMaxXattrValue)};
}

Result<std::set<std::string>> ReceivedFolder::note_names(const std::set<std::string>& before,
                                                         const StreamChanges& stream) const {
  std::set<std::string> names = before;
  if (!is_root()) return names;
  std::string text;
  DEDUPFS_TRY(filesystem_.read_directory(inode_, 0, /*counted=*/false, [&](const DirectoryEntry& entry) {
    if (entry.name == "." || entry.name == "..") return true;
    if (!stream.has_finished(entry.attributes.inode) && !before.contains(entry.name)) return true;
    names.insert(entry.name);
    text += entry.name + '\0';
    return text.size() <= kMaxXattrValue;
  }));
  DEDUPFS_TRY(check_length_of_names(text.size()));
  DEDUPFS_TRY(filesystem_.set_xattr(inode_, kNamesXattr, text, XattrMode::kSet));
  return names;
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
  if (!before) return check_empty();
  if (is_begun) return {};
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
                                                               const StreamChanges* stream,
                                                               const std::shared_ptr<CommittedState>& state,
                                                               const CommittedTree& tree) const {
  DEDUPFS_ASSIGN(const TreeDiff diff, diff_trees(*state, CommittedTree::of_snapshot(state, copy.snapshot), tree));
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
      DEDUPFS_ASSIGN(const auto record, named_inode(tree, change.inode));
      if (record && record->attributes.links > 1) elsewhere.emplace(change.inode, change.path);
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
  const auto state = std::make_shared<CommittedState>(filesystem_.volume().database());
  DEDUPFS_ASSIGN(const auto changed, changes_since(copy, names, nullptr, state, CommittedTree::live(state)));
  DEDUPFS_TRY(check_still_there(copy));
  if (changed.empty()) return {};
  return Error{ErrorCode::kBusy,
               fmt::format("files were changed here since snapshot '{}' was received: {}. Undo that, for example with "
                           "dedupfs-snapshot rollback, or receive all of the snapshot into another folder",
                           printable(copy.snapshot.name), list_of(changed))};
}

Result<std::vector<std::string>> ReceivedFolder::paths_of(const CommittedTree& tree,
                                                          const std::vector<InodeNumber>& inodes) {
  InodePaths paths(tree);
  for (const InodeNumber inode : inodes) paths.want(inode);
  DEDUPFS_TRY(paths.find());
  std::vector<std::string> found;
  found.reserve(inodes.size());
  for (const InodeNumber inode : inodes) found.push_back(paths.path_of(inode));
  return found;
}

Result<Error> ReceivedFolder::changed_meanwhile(const std::optional<Copy>& copy,
                                                const std::vector<InodeNumber>& inodes) const {
  DEDUPFS_TRY(filesystem_.sync());
  const CommittedTree live = CommittedTree::live(std::make_shared<CommittedState>(filesystem_.volume().database()));
  DEDUPFS_ASSIGN(const auto paths, paths_of(live, inodes));
  return changed_while_received(copy, paths);
}

Error ReceivedFolder::without_notes(const std::optional<Copy>& copy) {
  return {ErrorCode::kBusy,
          "what the stream has changed here is not known any more, since somebody has changed or "
          "removed the folder .dedupfs-receiving.*. " +
              remedy_for(copy)};
}

Result<void> ReceivedFolder::check_changes(const std::optional<Copy>& copy, const std::set<std::string>& names,
                                           const StreamChanges& stream,
                                           const std::optional<SnapshotRecord>& snapshot) const {
  const auto state = std::make_shared<CommittedState>(filesystem_.volume().database());
  const CommittedTree tree = snapshot ? CommittedTree::of_snapshot(state, *snapshot) : CommittedTree::live(state);
  std::optional<std::vector<InodeNumber>> whole;
  if (!copy) whole = is_root() ? std::vector<InodeNumber>() : std::vector{inode_};
  DEDUPFS_ASSIGN(const auto inodes, stream.find_changed(tree, whole));
  if (!inodes.empty()) {
    DEDUPFS_ASSIGN(const auto paths, paths_of(tree, inodes));
    return changed_while_received(copy, paths);
  }
  if (!copy) return {};
  DEDUPFS_ASSIGN(const auto changed, changes_since(*copy, names, &stream, state, tree));
  DEDUPFS_TRY(check_still_there(*copy));
  if (changed.empty()) return {};
  return changed_while_received(copy, changed);
}

// What the images of a snapshot that is deleted say is not all that has changed.
Result<void> ReceivedFolder::check_still_there(const Copy& copy) const {
  if (filesystem_.volume().snapshots().find(copy.snapshot.number)) return {};
  return Error{ErrorCode::kNotFound, fmt::format("snapshot '{}', on which the stream builds, was deleted meanwhile",
                                                 printable(copy.snapshot.name))};
}

Result<void> ReceivedFolder::check_empty() const {
  bool is_empty = true;
  DEDUPFS_TRY(filesystem_.read_directory(inode_, 0, /*counted=*/false, [&](const DirectoryEntry& entry) {
    is_empty = entry.name == "." || entry.name == ".." || entry.name.starts_with(kWorkFolderPrefix);
    return is_empty;
  }));
  if (is_empty || is_root()) return {};
  return Error{
      ErrorCode::kExists,
      fmt::format("{} has files already: receive with --into a folder that is new or empty", printable(path_))};
}

}  // namespace dedupfs::transfer
