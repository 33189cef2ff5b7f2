#include "fs/namespace/rename.h"

#include <optional>
#include <string>

#include "base/mutex.h"
#include "fs/format/mode.h"
#include "fs/inodes/inode_record.h"
#include "fs/inodes/quota_guard.h"

namespace dedupfs {
namespace {

// One of the two ends of a rename: a name, with its entry and inode. Both are empty if the name is free, which only the new one
// can be.
struct End {
  InodePtr directory;
  std::string_view name;
  std::optional<Dirent> entry;
  InodePtr inode;

  bool leads_to_directory() const DEDUPFS_REQUIRES(inode->mutex) {
    return inode != nullptr && is_directory(inode->record.attributes.mode);
  }
};

Result<void> check_replaceable(const End& from, const End& to) DEDUPFS_REQUIRES(from.inode->mutex, to.inode->mutex) {
  if (from.leads_to_directory() && !to.leads_to_directory())
    return Error{ErrorCode::kNotDirectory, "'" + std::string(to.name) + "' is not a directory"};
  if (!from.leads_to_directory() && to.leads_to_directory())
    return Error{ErrorCode::kIsDirectory, "'" + std::string(to.name) + "' is a directory"};
  return {};
}

// Updates link counts and ".." after a move from one directory to another, if `child` is a directory.
void move_parent_link(Inode& child, Inode& old_parent, Inode& new_parent)
    DEDUPFS_REQUIRES(child.mutex, old_parent.mutex, new_parent.mutex) {
  if (!is_directory(child.record.attributes.mode)) return;
  drop_subdirectory(old_parent.record.attributes);
  add_subdirectory(new_parent.record.attributes);
  child.record.attributes.parent = new_parent.number;
}

void note_name(Inode& inode, const End& end) DEDUPFS_REQUIRES(inode.mutex) {
  inode.last_parent = end.directory->number;
  inode.last_name = end.name;
}

bool leaves_whiteout(RenameMode mode) {
  return mode == RenameMode::kWhiteout || mode == RenameMode::kWhiteoutNoReplace;
}
bool may_replace(RenameMode mode) {
  return mode == RenameMode::kReplace || mode == RenameMode::kWhiteout;
}

// The inode that means "removed from the layers below" to overlayfs.
InodeRecord whiteout() {
  InodeRecord record;
  record.attributes.mode = S_IFCHR;
  return record;
}

}  // namespace

// A rename, and the directories that it moves to another parent. Those are listed once a walk has shown that they are not above
// their new place.
struct Renames::Request {
  InodeNumber old_parent = 0;
  std::string_view old_name;
  InodeNumber new_parent = 0;
  std::string_view new_name;
  RenameMode mode{};
  const Caller& caller;
  InodeNumber checked = 0;       // goes to new_parent
  InodeNumber checked_back = 0;  // comes to old_parent in exchange

  bool exchanges() const { return mode == RenameMode::kExchange; }

  // Checks that no directory moves into itself.
  Result<void> check_no_circle(Ancestry& ancestry) const {
    const auto check = [&](InodeNumber moved, InodeNumber target) -> Result<void> {
      if (moved == 0) return {};
      DEDUPFS_ASSIGN(const bool inside, ancestry.is_inside(target, moved));
      if (!inside) return {};
      return Error{ErrorCode::kInvalidArgument, "a directory cannot become part of itself"};
    };
    DEDUPFS_TRY(check(checked, new_parent));
    return check(checked_back, old_parent);
  }
};

// The walk that looks for circles runs outside of the gate and of all name locks: in a deep tree it takes long, and only other
// moves of directories may wait for it. Under DirectoryMoves::Lock no directory changes its parent, so the result of the walk
// stays true. If the name leads to another directory afterwards, that one is checked next.
Result<void> Renames::rename(InodeNumber old_parent, std::string_view old_name, InodeNumber new_parent,
                             std::string_view new_name, RenameMode mode, const Caller& caller) {
  constexpr int kAttempts = 100;
  DEDUPFS_TRY(transactions_.check_writable(old_parent));
  DEDUPFS_TRY(transactions_.check_writable(new_parent));
  DEDUPFS_TRY(DirectoryEntries::check_new_name(old_name));
  DEDUPFS_TRY(DirectoryEntries::check_new_name(new_name));
  if (leaves_whiteout(mode)) DEDUPFS_TRY(space_.admit_metadata());
  Request request{.old_parent = old_parent,
                  .old_name = old_name,
                  .new_parent = new_parent,
                  .new_name = new_name,
                  .mode = mode,
                  .caller = caller};
  std::optional<DirectoryMoves::Lock> moves_lock;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    DEDUPFS_ASSIGN(const bool done, rename_if_checked(request, moves_lock ? &moves_lock->ancestry() : nullptr));
    if (done) return {};
    if (!moves_lock) moves_lock.emplace(moves_);
    DEDUPFS_TRY(request.check_no_circle(moves_lock->ancestry()));
  }
  return Error{ErrorCode::kBusy, "'" + std::string(old_name) + "' is being replaced all the time"};
}

// False: nothing was done, and `request` has the directories that must be checked first. If directories were checked,
// `ancestry` must be given: they move only under its lock.
Result<bool> Renames::rename_if_checked(Request& request, Ancestry* ancestry) {
  const auto& [old_parent, old_name, new_parent, new_name, mode, caller, checked, checked_back] = request;
  const Transactions::Change change(transactions_);
  const NameLocks::Exclusive name_lock(names_, old_parent, new_parent);

  End from{.name = old_name};
  End to{.name = new_name};
  DEDUPFS_ASSIGN(from.directory, table_.get_directory(old_parent));
  DEDUPFS_ASSIGN(to.directory, table_.get_directory(new_parent));
  DEDUPFS_ASSIGN(from.entry, entries_.find(old_parent, old_name));
  DEDUPFS_ASSIGN(to.entry, entries_.find(new_parent, new_name));
  if ((!from.entry && entries_.is_taken_by_snapshots(old_parent, old_name)) ||
      (!to.entry && entries_.is_taken_by_snapshots(new_parent, new_name)))
    return Error{ErrorCode::kNotPermitted, "'" + std::string(kSnapshotsName) + "' is where the snapshots are"};
  if (!from.entry) return Error{ErrorCode::kNotFound, "no '" + std::string(old_name) + "' to rename"};
  if (to.entry && !may_replace(mode) && !request.exchanges())
    return Error{ErrorCode::kExists, "'" + std::string(new_name) + "' is there already"};
  if (!to.entry && request.exchanges())
    return Error{ErrorCode::kNotFound, "no '" + std::string(new_name) + "' to exchange with"};
  if (to.entry && to.entry->inode == from.entry->inode) return true;  // two names of one file: POSIX says, do nothing

  const bool changes_parents = old_parent != new_parent;
  const InodeNumber moved = changes_parents && is_directory(from.entry->type) ? from.entry->inode : 0;
  const InodeNumber moved_back =
      changes_parents && request.exchanges() && is_directory(to.entry->type) ? to.entry->inode : 0;
  if (moved != checked || moved_back != checked_back) {
    request.checked = moved;
    request.checked_back = moved_back;
    return false;
  }
  DEDUPFS_ASSIGN(from.inode, entries_.target_of(old_parent, old_name, *from.entry));
  if (to.entry) {
    DEDUPFS_ASSIGN(to.inode, entries_.target_of(new_parent, new_name, *to.entry));
  }

  const InodeLocks inode_locks(*from.directory, *to.directory, *from.inode, to.inode.get());
  DEDUPFS_TRY(entries_.check_takes_names(*to.directory));
  DEDUPFS_TRY(QuotaGuard::check_same_tree(*to.directory, *from.inode));
  if (request.exchanges()) DEDUPFS_TRY(QuotaGuard::check_same_tree(*from.directory, *to.inode));
  if (moved != 0 && to.directory->record.attributes.links >= kMaxLinks)
    return Error{ErrorCode::kTooManyLinks, "directory " + std::to_string(new_parent) + " has too many subdirectories"};
  if (to.entry && !request.exchanges()) {
    DEDUPFS_TRY(check_replaceable(from, to));
    if (to.leads_to_directory()) {
      DEDUPFS_ASSIGN(const bool empty, entries_.is_empty(to.inode->number));
      if (!empty) return Error{ErrorCode::kNotEmpty, "'" + std::string(new_name) + "' has entries"};
    }
  }

  const Timestamp now = Timestamp::now();
  InodePtr left_behind;
  if (leaves_whiteout(mode)) {
    DEDUPFS_ASSIGN(left_behind, maker_.make(*from.directory, whiteout(), caller, now));
  }
  // No step fails from here on.
  if (request.exchanges()) {
    entries_.put(*from.directory, old_name, *to.inode, from.entry->cookie);
    entries_.put(*to.directory, new_name, *from.inode, to.entry->cookie);
    move_parent_link(*to.inode, *to.directory, *from.directory);
    note_name(*to.inode, from);
    to.inode->record.attributes.ctime = now;
    put_record(metadata_, *to.inode);
  } else {
    if (left_behind) {
      const MutexLock left_behind_lock(left_behind->mutex);  // last: a new number is greater
      entries_.put(*from.directory, old_name, *left_behind, from.entry->cookie);
      note_name(*left_behind, from);
    } else {
      entries_.remove(*from.directory, old_name, *from.entry);
    }
    // The new entry keeps a place in the order: that of the replaced name, or else that of the file in its directory. So a
    // running readdir sees each name once.
    if (to.entry) {
      entries_.put(*to.directory, new_name, *from.inode, to.entry->cookie);
      if (to.leads_to_directory()) drop_subdirectory(to.directory->record.attributes);
    } else if (old_parent == new_parent && !left_behind) {
      entries_.add(*to.directory, new_name, *from.inode, from.entry->cookie);
    } else {
      entries_.add(*to.directory, new_name, *from.inode);
    }
  }
  move_parent_link(*from.inode, *from.directory, *to.directory);
  note_name(*from.inode, to);
  from.inode->record.attributes.ctime = now;
  put_record(metadata_, *from.inode);
  for (Inode* directory : {from.directory.get(), to.directory.get()}) {
    directory->mutex.assert_held();  // the analysis does not know that it is one of the two
    directory->record.attributes.mtime = now;
    directory->record.attributes.ctime = now;
    put_record(metadata_, *directory);
  }
  if (to.entry && !request.exchanges()) entries_.drop_link(to.inode, now);
  if (moved != 0) ancestry->note_move(moved, new_parent);
  if (moved_back != 0) ancestry->note_move(moved_back, old_parent);
  return true;
}

}  // namespace dedupfs
