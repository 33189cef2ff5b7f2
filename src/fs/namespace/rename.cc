// rename(2) and renameat2(2).
#include "fs/namespace/filesystem.h"
#include "fs/namespace/filesystem_state.h"

namespace dedupfs {
namespace {

// The two ends of a rename. What it leads to: `entry` and `inode`; of the new end, empty if the name is free.
struct End {
  InodePtr directory;
  std::string_view name;
  std::optional<Dirent> entry;
  InodePtr inode;

  bool leads_to_directory() const { return inode != nullptr && is_directory(inode->record.attributes.mode); }
};

Result<void> check_replaceable(const End& from, const End& to) {
  if (from.leads_to_directory() && !to.leads_to_directory())
    return Error{ErrorCode::kNotDirectory, "'" + std::string(to.name) + "' is not a directory"};
  if (!from.leads_to_directory() && to.leads_to_directory())
    return Error{ErrorCode::kIsDirectory, "'" + std::string(to.name) + "' is a directory"};
  return {};
}

// A subdirectory went from one directory to another.
void move_parent_link(Inode& child, Inode& old_parent, Inode& new_parent) {
  if (!is_directory(child.record.attributes.mode)) return;
  drop_subdirectory(old_parent.record.attributes);
  add_subdirectory(new_parent.record.attributes);
  child.record.attributes.parent = new_parent.number;
}

void note_name(Inode& inode, const End& end) {
  inode.last_parent = end.directory->number;
  inode.last_name = end.name;
}

bool leaves_whiteout(Filesystem::RenameMode mode) {
  return mode == Filesystem::RenameMode::kWhiteout || mode == Filesystem::RenameMode::kWhiteoutNoReplace;
}
bool may_replace(Filesystem::RenameMode mode) {
  return mode == Filesystem::RenameMode::kReplace || mode == Filesystem::RenameMode::kWhiteout;
}

// What overlayfs takes for "removed from the layers below".
InodeRecord whiteout() {
  InodeRecord record;
  record.attributes.mode = S_IFCHR;
  return record;
}

}  // namespace

// A rename, and the directories that it moves to another parent, as far as they are known not to hold their new place.
struct FilesystemState::Rename {
  InodeNumber old_parent = 0;
  std::string_view old_name;
  InodeNumber new_parent = 0;
  std::string_view new_name;
  Filesystem::RenameMode mode{};
  const Caller& caller;
  InodeNumber checked = 0;       // goes to new_parent
  InodeNumber checked_back = 0;  // comes to old_parent in exchange

  bool exchanges() const { return mode == Filesystem::RenameMode::kExchange; }
};

// The walk that looks for circles runs outside of the gate and of all name locks: in a deep tree it takes long, and nobody may
// wait for it but those who move directories, too. With rename_mutex held no directory changes its parent, so what the walk
// found stays true. The name may lead to another directory afterwards; then that one is checked.
Result<void> Filesystem::rename(InodeNumber old_parent, std::string_view old_name, InodeNumber new_parent,
                                std::string_view new_name, RenameMode mode, const Caller& caller) {
  constexpr int kAttempts = 100;
  FilesystemState& state = *state_;
  DEDUPFS_TRY(state.check_writable(old_parent));
  DEDUPFS_TRY(state.check_writable(new_parent));
  DEDUPFS_TRY(FilesystemState::check_new_name(old_name));
  DEDUPFS_TRY(FilesystemState::check_new_name(new_name));
  if (leaves_whiteout(mode)) DEDUPFS_TRY(state.space.admit_metadata());
  FilesystemState::Rename rename{.old_parent = old_parent,
                                 .old_name = old_name,
                                 .new_parent = new_parent,
                                 .new_name = new_name,
                                 .mode = mode,
                                 .caller = caller};
  std::unique_lock rename_lock(state.rename_mutex, std::defer_lock);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    DEDUPFS_ASSIGN(const bool done, state.rename_if_checked(rename));
    if (done) return {};
    if (!rename_lock.owns_lock()) rename_lock.lock();
    DEDUPFS_TRY(state.check_no_circle(rename));
  }
  return Error{ErrorCode::kBusy, "'" + std::string(old_name) + "' is being replaced all the time"};
}

// False: nothing was done, and the directories that are to be checked stand in `rename`.
Result<bool> FilesystemState::rename_if_checked(Rename& rename) {
  const auto& [old_parent, old_name, new_parent, new_name, mode, caller, checked, checked_back] = rename;
  const Change change(*this);
  const NameLocks::Exclusive name_lock(names, {old_parent, new_parent});

  End from{.name = old_name};
  End to{.name = new_name};
  DEDUPFS_ASSIGN(from.directory, get_directory(old_parent));
  DEDUPFS_ASSIGN(to.directory, get_directory(new_parent));
  DEDUPFS_ASSIGN(from.entry, find_entry(old_parent, old_name));
  DEDUPFS_ASSIGN(to.entry, find_entry(new_parent, new_name));
  if ((!from.entry && is_snapshots_entry(old_parent, old_name)) ||
      (!to.entry && is_snapshots_entry(new_parent, new_name)))
    return Error{ErrorCode::kNotPermitted, "'" + std::string(kSnapshotsName) + "' is where the snapshots are"};
  if (!from.entry) return Error{ErrorCode::kNotFound, "no '" + std::string(old_name) + "' to rename"};
  if (to.entry && !may_replace(mode) && !rename.exchanges())
    return Error{ErrorCode::kExists, "'" + std::string(new_name) + "' is there already"};
  if (!to.entry && rename.exchanges())
    return Error{ErrorCode::kNotFound, "no '" + std::string(new_name) + "' to exchange with"};
  if (to.entry && to.entry->inode == from.entry->inode) return true;  // two names of one file: POSIX says, do nothing

  const bool changes_parents = old_parent != new_parent;
  const InodeNumber moved = changes_parents && is_directory(from.entry->type) ? from.entry->inode : 0;
  const InodeNumber moved_back =
      changes_parents && rename.exchanges() && is_directory(to.entry->type) ? to.entry->inode : 0;
  if (moved != checked || moved_back != checked_back) {
    rename.checked = moved;
    rename.checked_back = moved_back;
    return false;
  }
  DEDUPFS_ASSIGN(from.inode, get_target(old_parent, old_name, *from.entry));
  if (to.entry) {
    DEDUPFS_ASSIGN(to.inode, get_target(new_parent, new_name, *to.entry));
  }

  const InodeLocks inode_locks({from.directory.get(), to.directory.get(), from.inode.get(), to.inode.get()});
  DEDUPFS_TRY(check_takes_names(*to.directory));
  if (moved != 0 && to.directory->record.attributes.links >= kMaxLinks)
    return Error{ErrorCode::kTooManyLinks, "directory " + std::to_string(new_parent) + " has too many subdirectories"};
  if (to.entry && !rename.exchanges()) {
    DEDUPFS_TRY(check_replaceable(from, to));
    if (to.leads_to_directory()) {
      DEDUPFS_ASSIGN(const bool empty, is_empty_directory(to.inode->number));
      if (!empty) return Error{ErrorCode::kNotEmpty, "'" + std::string(new_name) + "' has entries"};
    }
  }

  const Timestamp now = Timestamp::now();
  InodePtr left_behind;
  if (leaves_whiteout(mode)) {
    DEDUPFS_ASSIGN(left_behind, add_inode(*from.directory, whiteout(), caller, now));
  }
  // Nothing fails from here on.
  if (rename.exchanges()) {
    put_entry(*from.directory, old_name, *to.inode, from.entry->cookie);
    put_entry(*to.directory, new_name, *from.inode, to.entry->cookie);
    move_parent_link(*to.inode, *to.directory, *from.directory);
    note_name(*to.inode, from);
    to.inode->record.attributes.ctime = now;
    put_record(*to.inode);
  } else {
    if (left_behind) {
      put_entry(*from.directory, old_name, *left_behind, from.entry->cookie);
      note_name(*left_behind, from);
    } else {
      remove_entry(*from.directory, old_name, *from.entry);
    }
    // The place in the order stays, that of the name or else that of the file: a readdir under way sees each once.
    if (to.entry) {
      put_entry(*to.directory, new_name, *from.inode, to.entry->cookie);
      if (to.leads_to_directory()) drop_subdirectory(to.directory->record.attributes);
    } else if (old_parent == new_parent && !left_behind) {
      add_entry(*to.directory, new_name, *from.inode, from.entry->cookie);
    } else {
      add_entry(*to.directory, new_name, *from.inode);
    }
  }
  move_parent_link(*from.inode, *from.directory, *to.directory);
  note_name(*from.inode, to);
  from.inode->record.attributes.ctime = now;
  put_record(*from.inode);
  for (Inode* directory : {from.directory.get(), to.directory.get()}) {
    directory->record.attributes.mtime = now;
    directory->record.attributes.ctime = now;
    put_record(*directory);
  }
  if (to.entry && !rename.exchanges()) drop_link(to.inode, now);
  if (moved != 0) ancestry.note_move(moved, new_parent);
  if (moved_back != 0) ancestry.note_move(moved_back, old_parent);
  return true;
}

// A directory must not move into itself. With rename_mutex held.
Result<void> FilesystemState::check_no_circle(const Rename& rename) {
  const auto check = [&](InodeNumber moved, InodeNumber target) -> Result<void> {
    if (moved == 0) return {};
    DEDUPFS_ASSIGN(const bool inside, ancestry.is_inside(target, moved));
    if (!inside) return {};
    return Error{ErrorCode::kInvalidArgument, "a directory cannot become part of itself"};
  };
  DEDUPFS_TRY(check(rename.checked, rename.new_parent));
  return check(rename.checked_back, rename.old_parent);
}

}  // namespace dedupfs
