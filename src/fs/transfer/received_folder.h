// The folder that a stream is received in: what it says of itself, the same folder in snapshots, and lookups in both.
//
// Threads:   one user at a time.
// Ownership: the filesystem must outlive it.
// Failure:   errors of the filesystem; kCorruption for paths and attributes that are malformed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fs/namespace/filesystem.h"
#include "fs/transfer/stream_changes.h"
#include "fs/transfer/stream_header.h"
#include "fs/trees/committed_tree.h"

namespace dedupfs::transfer {

// Of the folder in it in which a stream keeps what has no name for a moment.
inline constexpr std::string_view kWorkFolderPrefix = ".dedupfs-receiving.";

// Of one entry; it counts no reference.
Result<Attributes> find_entry(Filesystem& filesystem, InodeNumber directory, std::string_view name);
// Of a path below a directory: names between single '/'. Empty or ".": the directory. Symbolic links are not followed.
Result<Attributes> find_path(Filesystem& filesystem, InodeNumber directory, std::string_view path);

class ReceivedFolder {
 public:
  // Makes the folder if it is not there; what is above it must be.
  static Result<ReceivedFolder> open(Filesystem& filesystem, const std::string& path, bool make);

  InodeNumber inode() const { return inode_; }
  // The name that was made for it. Nothing: it was there.
  const std::optional<ChangedName>& made_name() const { return made_name_; }
  bool is_root() const { return inode_ == kRootInode; }
  Result<std::optional<ReceivedState>> state() const { return state_of(inode_); }
  Result<void> note(const ReceivedState& state) const;

  // A snapshot of this volume in which the folder is that snapshot of the sender, complete, and that has the date which the folder notes: later
  // ones of this volume have what was changed here since.
  struct Copy {
    SnapshotRecord snapshot;
    InodeNumber folder = 0;  // in its tree
  };
  Result<std::optional<Copy>> find_copy(const SnapshotIdentity& of) const;
  // The root of a volume also has names of the receiver's own. These are those that were received, as the copy notes them; empty elsewhere.
  // kNotFound: an older build made the copy, and noted none.
  Result<std::set<std::string>> received_names(const Copy& copy) const;
  // In the root, notes those of now: of `before` what is still there, and what the stream has finished. Returns them and `before`. kTooLarge if they cannot
  // be noted.
  Result<std::set<std::string>> note_names(const std::set<std::string>& before, const StreamChanges& stream) const;
  // kTooLarge beyond what note_names() takes.
  static Result<void> check_length_of_names(std::size_t bytes);
  // The copy that a state which notes none has all the same: the folder was rolled back to it, or a receive was interrupted right behind it.
  Result<std::optional<Copy>> find_unnoted_copy(const ReceivedState& state) const {
    return state.is_complete ? find_copy(state.snapshot) : std::nullopt;
  }
  // Whether the stream may come now, after what was received before. kNotFound, kExists and kBusy say what to do instead.
  Result<void> check_fits(const StreamHeader& stream, const std::optional<ReceivedState>& before) const;
  // kUnsupported if a directory below the folder has a quota: what moves cannot cross it.
  Result<void> check_quotas() const;
  // kExists if a stream without a base would come into a folder that has files. In the root of the volume, those are somebody's own.
  Result<void> check_empty() const;
  // kBusy if the folder differs from the copy, also by another name of a file in it. In the root of the volume, only `names` count.
  Result<void> check_unchanged(const Copy& copy, const std::set<std::string>& names) const;
  // kBusy if the folder has changes in that snapshot (none: in the last commit) which are not the stream's: to what it has finished, since the copy, or,
  // without one, beside what it has made. `names` as above: of the copy and of the snapshot. kNotFound if the copy was deleted meanwhile.
  Result<void> check_changes(const std::optional<Copy>& copy, const std::set<std::string>& names,
                             const StreamChanges& stream, const std::optional<SnapshotRecord>& snapshot) const;
  // That somebody changed these inodes while the stream came.
  Result<Error> changed_meanwhile(const std::optional<Copy>& copy, const std::vector<InodeNumber>& inodes) const;
  // That the notes of what the stream has changed are gone.
  static Error without_notes(const std::optional<Copy>& copy);

 private:
  ReceivedFolder(Filesystem& filesystem, std::string path, InodeNumber inode)
      : filesystem_(filesystem), path_(std::move(path)), inode_(inode) {}
  Result<std::optional<ReceivedState>> state_of(InodeNumber folder) const;
  Result<void> check_still_there(const Copy& copy) const;
  bool is_in(const std::string& path, const std::set<std::string>& names) const;
  // Paths of what differs from the copy in that tree. `stream` null: nothing is the stream's.
  Result<std::vector<std::string>> changes_since(const Copy& copy, const std::set<std::string>& names,
                                                 const StreamChanges* stream,
                                                 const std::shared_ptr<CommittedState>& state,
                                                 const CommittedTree& tree) const;
  static Result<std::vector<std::string>> paths_of(const CommittedTree& tree, const std::vector<InodeNumber>& inodes);
  // Visits every entry of the copy that counts, until it returns false.
  using VisitEntry = std::function<bool(const Attributes& entry)>;
  Result<void> walk(const Copy& copy, const std::set<std::string>& names, const VisitEntry& visit) const;

  Filesystem& filesystem_;
  std::string path_;  // in the volume, without '/' around it
  InodeNumber inode_ = 0;
  std::optional<ChangedName> made_name_;
};

}  // namespace dedupfs::transfer
