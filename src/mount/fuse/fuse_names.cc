#include "mount/fuse/fuse_requests.h"

#include <string>
#include <utility>

#include "mount/fuse/fuse_entries.h"

namespace dedupfs {

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  reply(req, [&]() -> Result<Entry> {
    FuseMount& mount = mount_of(req);
    auto found = mount.filesystem().lookup(parent, name);
    if (!found && found.error().code() == ErrorCode::kNotFound) {
      Entry absent;  // node id 0: the kernel remembers that there is none
      absent.parameters.entry_timeout = parent == kSnapshotsInode ? 0 : name_valid_seconds(mount);
      return absent;
    }
    return to_entry(mount, found);
  });
}

void op_forget(fuse_req_t req, fuse_ino_t inode, std::uint64_t count) {
  survive("forgetting an inode", [&] { mount_of(req).hold_filesystem()->forget(inode, count); });
  fuse_reply_none(req);
}

void op_forget_multi(fuse_req_t req, std::size_t count, fuse_forget_data* forgets) {
  for (std::size_t i = 0; i < count; ++i)
    survive("forgetting an inode",
            [&] { mount_of(req).hold_filesystem()->forget(forgets[i].ino, forgets[i].nlookup); });
  fuse_reply_none(req);
}

void op_mknod(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode, dev_t device) {
  note_use(req);
  reply_to_change(req, [&] {
    FuseMount& mount = mount_of(req);
    return to_entry(mount, mount.filesystem().make_node(parent, name, mode, device, caller_of(req)));
  });
}

void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode) {
  note_use(req);
  reply_to_change(req, [&] {
    FuseMount& mount = mount_of(req);
    return to_entry(mount, mount.filesystem().make_directory(parent, name, mode, caller_of(req)));
  });
}

void op_symlink(fuse_req_t req, const char* target, fuse_ino_t parent, const char* name) {
  note_use(req);
  reply_to_change(req, [&] {
    FuseMount& mount = mount_of(req);
    return to_entry(mount, mount.filesystem().make_symlink(parent, name, target, caller_of(req)));
  });
}

void op_link(fuse_req_t req, fuse_ino_t inode, fuse_ino_t parent, const char* name) {
  note_use(req);
  reply_to_change(req, [&] {
    FuseMount& mount = mount_of(req);
    return to_entry(mount, mount.filesystem().make_link(inode, parent, name));
  });
}

void op_unlink(fuse_req_t req, fuse_ino_t parent, const char* name) {
  note_use(req);
  reply_to_change(req, [&] { return mount_of(req).filesystem().unlink(parent, name); });
}

void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char* name) {
  note_use(req);
  reply_to_change(req, [&] { return mount_of(req).filesystem().remove_directory(parent, name); });
}

namespace {

Result<Filesystem::RenameMode> rename_mode(unsigned flags) {
  switch (flags) {
    case 0: return Filesystem::RenameMode::kReplace;
    case RENAME_NOREPLACE: return Filesystem::RenameMode::kNoReplace;
    case RENAME_EXCHANGE: return Filesystem::RenameMode::kExchange;
    case RENAME_WHITEOUT: return Filesystem::RenameMode::kWhiteout;
    case RENAME_WHITEOUT | RENAME_NOREPLACE: return Filesystem::RenameMode::kWhiteoutNoReplace;
    default: return Error{ErrorCode::kInvalidArgument, "rename: unknown flags"};
  }
}

}  // namespace

void op_rename(fuse_req_t req, fuse_ino_t parent, const char* name, fuse_ino_t new_parent, const char* new_name,
               unsigned flags) {
  note_use(req);
  reply_to_change(req, [&]() -> Result<void> {
    DEDUPFS_ASSIGN(const auto mode, rename_mode(flags));
    return mount_of(req).filesystem().rename(parent, name, new_parent, new_name, mode, caller_of(req));
  });
}

void op_readlink(fuse_req_t req, fuse_ino_t inode) {
  reply(req, [&]() -> Result<SymlinkTarget> {
    DEDUPFS_ASSIGN(std::string target, mount_of(req).filesystem().read_symlink(inode));
    return SymlinkTarget{std::move(target)};
  });
}

}  // namespace dedupfs
