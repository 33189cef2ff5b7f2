#include "mount/fuse/fuse_requests.h"

#include <linux/fuse.h>
#include <sys/xattr.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mount/fuse/fuse_entries.h"

namespace dedupfs {

namespace {

Timestamp to_timestamp(const timespec& time) {
  return {time.tv_sec, static_cast<std::uint32_t>(time.tv_nsec)};
}

// reply(), for operations that change attributes.
template <class Body>
void reply_to_attribute_change(fuse_req_t req, Body&& body) {
  FuseMount& mount = mount_of(req);
  reply(req, [&] { return durably(mount, mount.is_sync(), body); });
}

}  // namespace

void op_getattr(fuse_req_t req, fuse_ino_t inode, fuse_file_info*) {
  reply(req, [&] {
    FuseMount& mount = mount_of(req);
    return to_reply(mount, mount.filesystem().attributes(inode));
  });
}

namespace {

AttributeChanges to_changes(const struct stat& wanted, int valid) {
  AttributeChanges changes;
  if (valid & FUSE_SET_ATTR_MODE) changes.mode = wanted.st_mode & 07777;
  if (valid & FUSE_SET_ATTR_UID) changes.uid = wanted.st_uid;
  if (valid & FUSE_SET_ATTR_GID) changes.gid = wanted.st_gid;
  if (valid & FUSE_SET_ATTR_SIZE) changes.size = static_cast<std::uint64_t>(wanted.st_size);
  if (valid & FUSE_SET_ATTR_ATIME) changes.atime = to_timestamp(wanted.st_atim);
  if (valid & FUSE_SET_ATTR_MTIME) changes.mtime = to_timestamp(wanted.st_mtim);
  if (valid & FUSE_SET_ATTR_CTIME) changes.ctime = to_timestamp(wanted.st_ctim);
  if (valid & FUSE_SET_ATTR_ATIME_NOW) changes.atime = Timestamp::now();
  if (valid & FUSE_SET_ATTR_MTIME_NOW) changes.mtime = Timestamp::now();
  return changes;
}

// libfuse lets the kernel's bit pass under this name.
constexpr int kKillSetIds = FUSE_SET_ATTR_KILL_SUID;
static_assert(kKillSetIds == FATTR_KILL_SUIDGID);

constexpr bool changes_owner(int valid) {
  return (valid & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0;
}

// Whether set-id bits go as by chown(2). A request without any change is chown(2) with neither owner nor group, or comes before a
// write through the cache: then the kernel has looked at the rights of the writer.
bool takes_set_ids(const FuseMount& mount, int valid) {
  return mount.takes_set_ids() && (valid == 0 || (changes_owner(valid) && (valid & kKillSetIds) != 0));
}

// Of a truncation, the kernel says whether the caller has CAP_FSETID. It asks for the bits of a new owner in any case.
std::optional<bool> known_to_keep_set_ids(const FuseMount& mount, int valid) {
  if (!mount.takes_set_ids() || (valid & FUSE_SET_ATTR_SIZE) == 0 || changes_owner(valid)) return std::nullopt;
  return (valid & kKillSetIds) == 0;
}

}  // namespace

void op_setattr(fuse_req_t req, fuse_ino_t inode, struct stat* wanted, int valid, fuse_file_info*) {
  FuseMount& mount = mount_of(req);
  AttributeChanges changes = to_changes(*wanted, valid);
  changes.takes_set_ids = takes_set_ids(mount, valid);
  const auto change = [&]() -> Result<AttributeReply> {
    // A direct write takes these bits away, and the kernel has to learn of it.
    if (changes.mode && (*changes.mode & (S_ISUID | S_ISGID))) mount.open_files().note_cached(inode);
    const FuseCaller caller(req, known_to_keep_set_ids(mount, valid));
    return to_reply(mount, mount.filesystem().set_attributes(inode, changes, caller));
  };
  const Result<AttributeReply> result = attempt(req, [&] { return durably(mount, mount.is_sync(), change); });
  changes.size ? answer_content_change(req, {inode}, result) : answer(req, result);
}

void op_setxattr(fuse_req_t req, fuse_ino_t inode, const char* name, const char* value, std::size_t size, int flags) {
  reply_to_attribute_change(req, [&] {
    const auto mode = flags == XATTR_CREATE    ? Filesystem::XattrMode::kCreate
                      : flags == XATTR_REPLACE ? Filesystem::XattrMode::kReplace
                                               : Filesystem::XattrMode::kSet;
    return mount_of(req).filesystem().set_xattr(inode, name, {value, size}, mode, caller_of(req));
  });
}

void op_getxattr(fuse_req_t req, fuse_ino_t inode, const char* name, std::size_t size) {
  reply(req, [&]() -> Result<XattrReply> {
    DEDUPFS_ASSIGN(std::string value, mount_of(req).filesystem().get_xattr(inode, name));
    return XattrReply{std::move(value), size};
  });
}

void op_listxattr(fuse_req_t req, fuse_ino_t inode, std::size_t size) {
  reply(req, [&]() -> Result<XattrReply> {
    DEDUPFS_ASSIGN(const std::vector<std::string> names, mount_of(req).filesystem().list_xattrs(inode));
    XattrReply list{{}, size};
    // The kernel keeps others than administrators from the values of these, but leaves hiding the names to the filesystem.
    const bool administrator = fuse_req_ctx(req)->uid == 0;
    for (const std::string& name : names) {
      if (administrator || !name.starts_with("trusted.")) list.value.append(name).push_back('\0');
    }
    return list;
  });
}

void op_removexattr(fuse_req_t req, fuse_ino_t inode, const char* name) {
  reply_to_attribute_change(req, [&] { return mount_of(req).filesystem().remove_xattr(inode, name); });
}

}  // namespace dedupfs
