// rename(2) and renameat2(2).
#include "fs/filesystem_state.h"

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
  --old_parent.record.attributes.links;
  ++new_parent.record.attributes.links;
  child.record.attributes.parent = new_parent.number;
}

void note_name(Inode& inode, const End& end) {
  inode.last_parent = end.directory->number;
  inode.last_name = end.name;
}

}  // namespace

Result<void> Filesystem::rename(InodeNumber old_parent, std::string_view old_name, InodeNumber new_parent,
                                std::string_view new_name, RenameMode mode) {
  State& state = *state_;
  DEDUPFS_TRY(state.check_writable(old_parent));
  DEDUPFS_TRY(state.check_writable(new_parent));
  DEDUPFS_TRY(State::check_new_name(old_name));
  DEDUPFS_TRY(State::check_new_name(new_name));
  const State::Change change(state);
  std::unique_lock<std::mutex> rename_lock;
  if (old_parent != new_parent) rename_lock = std::unique_lock(state.rename_mutex);
  const NameLocks::Exclusive name_lock(state.names, {old_parent, new_parent});

  End from{.name = old_name};
  End to{.name = new_name};
  DEDUPFS_ASSIGN(from.directory, state.get_directory(old_parent));
  DEDUPFS_ASSIGN(to.directory, state.get_directory(new_parent));
  DEDUPFS_ASSIGN(from.entry, state.find_entry(old_parent, old_name));
  DEDUPFS_ASSIGN(to.entry, state.find_entry(new_parent, new_name));
  if ((!from.entry && is_snapshots_entry(old_parent, old_name)) ||
      (!to.entry && is_snapshots_entry(new_parent, new_name)))
    return Error{ErrorCode::kNotPermitted, "'" + std::string(kSnapshotsName) + "' is where the snapshots are"};
  if (!from.entry) return Error{ErrorCode::kNotFound, "no '" + std::string(old_name) + "' to rename"};
  if (to.entry && mode == RenameMode::kNoReplace)
    return Error{ErrorCode::kExists, "'" + std::string(new_name) + "' is there already"};
  if (!to.entry && mode == RenameMode::kExchange)
    return Error{ErrorCode::kNotFound, "no '" + std::string(new_name) + "' to exchange with"};
  if (to.entry && to.entry->inode == from.entry->inode) return {};  // two names of one file: POSIX says, do nothing
  DEDUPFS_ASSIGN(from.inode, state.get_target(old_parent, old_name, *from.entry));
  if (to.entry) {
    DEDUPFS_ASSIGN(to.inode, state.get_target(new_parent, new_name, *to.entry));
  }
  DEDUPFS_TRY(state.check_no_circle(*from.entry, old_parent, to.entry, new_parent, mode));

  const InodeLocks inode_locks({from.directory.get(), to.directory.get(), from.inode.get(), to.inode.get()});
  if (to.directory->record.attributes.links == 0)
    return Error{ErrorCode::kNotFound, "directory " + std::to_string(new_parent) + " was removed"};
  if (old_parent != new_parent && from.leads_to_directory() && to.directory->record.attributes.links >= kMostLinks)
    return Error{ErrorCode::kTooManyLinks, "directory " + std::to_string(new_parent) + " has too many subdirectories"};
  if (to.entry && mode != RenameMode::kExchange) {
    DEDUPFS_TRY(check_replaceable(from, to));
    if (to.leads_to_directory()) {
      DEDUPFS_ASSIGN(const bool empty, state.is_empty_directory(to.inode->number));
      if (!empty) return Error{ErrorCode::kNotEmpty, "'" + std::string(new_name) + "' has entries"};
    }
  }

  const Timestamp now = Timestamp::now();
  if (mode == RenameMode::kExchange) {
    state.put_entry(*from.directory, old_name, *to.inode, from.entry->cookie);
    state.put_entry(*to.directory, new_name, *from.inode, to.entry->cookie);
    move_parent_link(*from.inode, *from.directory, *to.directory);
    move_parent_link(*to.inode, *to.directory, *from.directory);
    note_name(*to.inode, from);
    to.inode->record.attributes.ctime = now;
    state.put_record(*to.inode);
  } else {
    state.remove_entry(*from.directory, old_name, *from.entry);
    if (to.entry) {
      // The place in the order stays: a readdir under way sees the name once, whatever it leads to.
      state.put_entry(*to.directory, new_name, *from.inode, to.entry->cookie);
      if (to.leads_to_directory()) --to.directory->record.attributes.links;
    } else {
      state.add_entry(*to.directory, new_name, *from.inode);
    }
    move_parent_link(*from.inode, *from.directory, *to.directory);
  }
  note_name(*from.inode, to);
  from.inode->record.attributes.ctime = now;
  state.put_record(*from.inode);
  for (Inode* directory : {from.directory.get(), to.directory.get()}) {
    directory->record.attributes.mtime = now;
    directory->record.attributes.ctime = now;
    state.put_record(*directory);
  }
  if (to.entry && mode != RenameMode::kExchange) state.drop_link(to.inode, now);
  return {};
}

// A directory must not move into itself.
Result<void> Filesystem::State::check_no_circle(const Dirent& from, InodeNumber old_parent,
                                                const std::optional<Dirent>& to, InodeNumber new_parent,
                                                RenameMode mode) {
  const Error circle{ErrorCode::kInvalidArgument, "a directory cannot become part of itself"};
  if (old_parent == new_parent) return {};
  if (is_directory(from.type)) {
    DEDUPFS_ASSIGN(const bool inside, is_inside(new_parent, from.inode));
    if (inside) return circle;
  }
  if (mode == RenameMode::kExchange && is_directory(to->type)) {
    DEDUPFS_ASSIGN(const bool inside, is_inside(old_parent, to->inode));
    if (inside) return circle;
  }
  return {};
}

}  // namespace dedupfs
