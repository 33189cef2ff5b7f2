#include "mount/fuse/fuse_requests.h"

#include <sys/xattr.h>

#include <string>
#include <string_view>
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

#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 18)
// The kernel asks it only if a program wants the time of birth, which getattr does not have.
void op_statx(fuse_req_t req, fuse_ino_t inode, int /*flags*/, int /*mask*/, fuse_file_info*) {
  reply(req, [&]() -> Result<StatxReply> {
    FuseMount& mount = mount_of(req);
    const auto attributes = mount.filesystem().attributes(inode);
    DEDUPFS_ASSIGN(const AttributeReply known, to_reply(mount, attributes));
    return StatxReply{to_statx(known.attributes, attributes->btime), known.timeout_seconds};
  });
}
#endif

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

}  // namespace

void op_setattr(fuse_req_t req, fuse_ino_t inode, struct stat* wanted, int valid, fuse_file_info*) {
  if ((valid & FUSE_SET_ATTR_SIZE) != 0) note_use(req);
  const AttributeChanges changes = to_changes(*wanted, valid);
  FuseMount& mount = mount_of(req);
  const auto change = [&]() -> Result<AttributeReply> {
    // A direct write takes these bits away, and the kernel has to learn of it.
    if (changes.mode && (*changes.mode & (S_ISUID | S_ISGID))) mount.open_files().note_cached(inode);
    return to_reply(mount, mount.filesystem().set_attributes(inode, changes, caller_of(req)));
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

namespace {

// Is not held up by a rollback: the answer reads what is committed.
void answer_publicly(fuse_req_t req, PublicAnswers& answers, const char* name, std::size_t size) {
  const auto metered = CurrentRequest::get();
  answers.ask(name, fuse_req_ctx(req)->uid, [req, size, metered](const Result<std::string>& value) {
    const CurrentRequest current(metered);
    answer(req, guarded([&]() -> Result<XattrReply> {
             if (!value) return value.error();
             return XattrReply{*value, size};
           }));
  });
}

}  // namespace

void op_getxattr(fuse_req_t req, fuse_ino_t inode, const char* name, std::size_t size) {
  PublicAnswers* const answers = mount_of(req).public_answers();
  if (answers != nullptr && std::string_view(name).starts_with(PublicAnswers::kPrefix))
    return answer_publicly(req, *answers, name, size);
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
