#include "mount/fuse/fuse_operations.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "mount/fuse/fuse_reply.h"
#include "mount/fuse/fuse_write.h"

namespace dedupfs {

namespace {

// Nobody but the kernel changes the volume, and it knows what it changes: names and attributes stay valid.
constexpr double kValidSeconds = 86400;
// How many blocks a file takes is known when it has been stored.
constexpr double kValidWhileWrittenSeconds = 1;
// Inode numbers are never reused.
constexpr std::uint64_t kGeneration = 1;
constexpr std::size_t kMaxCopyBytes = 1 << 30;  // a request cannot be interrupted

timespec to_timespec(const Timestamp& time) {
  return {time.seconds, static_cast<long>(time.nanoseconds)};
}
Timestamp to_timestamp(const timespec& time) {
  return {time.tv_sec, static_cast<std::uint32_t>(time.tv_nsec)};
}

struct stat to_stat(const Attributes& attributes) {
  struct stat result {};
  result.st_ino = attributes.inode;
  result.st_mode = attributes.mode;
  result.st_nlink = attributes.links;
  result.st_uid = attributes.uid;
  result.st_gid = attributes.gid;
  result.st_rdev = attributes.device;
  result.st_size = static_cast<off_t>(attributes.size);
  result.st_blksize = 4096;
  result.st_blocks = static_cast<blkcnt_t>((attributes.data_bytes + 511) / 512);
  result.st_atim = to_timespec(attributes.atime);
  result.st_mtim = to_timespec(attributes.mtime);
  result.st_ctim = to_timespec(attributes.ctime);
  return result;
}

// How long the kernel may take it for granted that the name still leads to this inode.
double entry_valid_seconds(InodeNumber inode) {
  const bool is_snapshot = tree_of(inode) != kLiveTree && inode_of(inode) == kRootInode;
  return is_snapshot ? 0 : kValidSeconds;  // they come and go without its doing
}

double valid_seconds(FuseMount& mount, InodeNumber inode) {
  if (inode == kSnapshotsInode) return 0;
  return mount.open_files().has_writer(inode) ? kValidWhileWrittenSeconds : kValidSeconds;
}

Entry to_entry(FuseMount& mount, const Attributes& attributes) {
  Entry entry;
  entry.parameters.ino = attributes.inode;
  entry.parameters.generation = kGeneration;
  entry.parameters.attr = to_stat(attributes);
  entry.parameters.attr_timeout = valid_seconds(mount, attributes.inode);
  entry.parameters.entry_timeout = entry_valid_seconds(attributes.inode);
  return entry;
}

Result<Entry> to_entry(FuseMount& mount, const Result<Attributes>& attributes) {
  if (!attributes) return attributes.error();
  return to_entry(mount, *attributes);
}

Result<AttributeReply> to_reply(FuseMount& mount, const Result<Attributes>& attributes) {
  if (!attributes) return attributes.error();
  return AttributeReply{to_stat(*attributes), valid_seconds(mount, attributes->inode)};
}

// What `body` returns, durable before it does if that is `wanted`: of all changes with -o sync, of names with -o dirsync.
template <class Body>
auto durably(FuseMount& mount, bool wanted, Body&& body) -> decltype(body()) {
  auto result = body();
  if (!result || !wanted) return result;
  if (const Result<void> synced = mount.filesystem().sync(); !synced) {
    if constexpr (requires { *result; }) take_back(mount, *result);
    return synced.error();
  }
  return result;
}

// reply(), for operations that change names.
template <class Body>
void reply_to_change(fuse_req_t req, Body&& body) {
  FuseMount& mount = mount_of(req);
  reply(req, [&] { return durably(mount, mount.is_dirsync(), body); });
}

// reply(), for operations that change attributes.
template <class Body>
void reply_to_attribute_change(fuse_req_t req, Body&& body) {
  FuseMount& mount = mount_of(req);
  reply(req, [&] { return durably(mount, mount.is_sync(), body); });
}

void op_init(void* userdata, fuse_conn_info* connection) {
  FuseMount& mount = *static_cast<FuseMount*>(userdata);
  mount.negotiate(*connection);
  survive("the start of the mount", [&] { mount.connected(); });
}

// --- names

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  reply(req, [&]() -> Result<Entry> {
    FuseMount& mount = mount_of(req);
    auto found = mount.filesystem().lookup(parent, name);
    if (!found && found.error().code() == ErrorCode::kNotFound) {
      Entry absent;  // node id 0: the kernel remembers that there is none
      absent.parameters.entry_timeout = parent == kSnapshotsInode ? 0 : kValidSeconds;
      return absent;
    }
    return to_entry(mount, found);
  });
}

void op_forget(fuse_req_t req, fuse_ino_t inode, std::uint64_t count) {
  survive("forgetting an inode", [&] { mount_of(req).filesystem().forget(inode, count); });
  fuse_reply_none(req);
}

void op_forget_multi(fuse_req_t req, std::size_t count, fuse_forget_data* forgets) {
  for (std::size_t i = 0; i < count; ++i)
    survive("forgetting an inode", [&] { mount_of(req).filesystem().forget(forgets[i].ino, forgets[i].nlookup); });
  fuse_reply_none(req);
}

void op_mknod(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode, dev_t device) {
  reply_to_change(req, [&] {
    FuseMount& mount = mount_of(req);
    return to_entry(mount, mount.filesystem().make_node(parent, name, mode, device, caller_of(req)));
  });
}

void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode) {
  reply_to_change(req, [&] {
    FuseMount& mount = mount_of(req);
    return to_entry(mount, mount.filesystem().make_directory(parent, name, mode, caller_of(req)));
  });
}

void op_symlink(fuse_req_t req, const char* target, fuse_ino_t parent, const char* name) {
  reply_to_change(req, [&] {
    FuseMount& mount = mount_of(req);
    return to_entry(mount, mount.filesystem().make_symlink(parent, name, target, caller_of(req)));
  });
}

void op_link(fuse_req_t req, fuse_ino_t inode, fuse_ino_t parent, const char* name) {
  reply_to_change(req, [&] {
    FuseMount& mount = mount_of(req);
    return to_entry(mount, mount.filesystem().make_link(inode, parent, name));
  });
}

void op_unlink(fuse_req_t req, fuse_ino_t parent, const char* name) {
  reply_to_change(req, [&] { return mount_of(req).filesystem().unlink(parent, name); });
}

void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char* name) {
  reply_to_change(req, [&] { return mount_of(req).filesystem().remove_directory(parent, name); });
}

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

void op_rename(fuse_req_t req, fuse_ino_t parent, const char* name, fuse_ino_t new_parent, const char* new_name,
               unsigned flags) {
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

DirectoryStream& stream_of(const fuse_file_info* info) {
  return *reinterpret_cast<DirectoryStream*>(info->fh);
}

void op_opendir(fuse_req_t req, fuse_ino_t, fuse_file_info* info) {
  reply(req, [&]() -> Result<OpenedDirectory> {
    auto stream = std::make_unique<DirectoryStream>();
    stream->notes_access = (info->flags & O_NOATIME) == 0;
    OpenedDirectory directory{*info};
    directory.info.fh = reinterpret_cast<std::uint64_t>(stream.release());
    return directory;
  });
}

void op_releasedir(fuse_req_t req, fuse_ino_t, fuse_file_info* info) {
  take_back(mount_of(req), OpenedDirectory{*info});
  fuse_reply_err(req, 0);
}

std::size_t add_entry(fuse_req_t req, char* place, std::size_t room, const DirectoryEntry& entry) {
  const struct stat attributes = to_stat(entry.attributes);
  return fuse_add_direntry(req, place, room, entry.name.c_str(), &attributes, static_cast<off_t>(entry.cookie));
}

std::size_t add_counted_entry(fuse_req_t req, char* place, std::size_t room, const DirectoryEntry& entry, bool counts) {
  Entry full = to_entry(mount_of(req), entry.attributes);
  if (!counts) full.parameters.ino = 0;  // the kernel takes no reference
  return fuse_add_direntry_plus(req, place, room, entry.name.c_str(), &full.parameters,
                                static_cast<off_t>(entry.cookie));
}

void read_directory(fuse_req_t req, fuse_ino_t inode, std::size_t size, off_t cookie, bool counted,
                    DirectoryStream& stream) {
  reply(req, [&]() -> Result<DirectoryReply> {
    DirectoryReply directory;
    directory.bytes.resize(size);
    std::size_t used = 0;
    const auto visit = [&](const DirectoryEntry& entry) {
      const bool counts = entry.counted;
      char* place = directory.bytes.data() + used;
      const std::size_t room = size - used;
      const std::size_t needed =
          counted ? add_counted_entry(req, place, room, entry, counts) : add_entry(req, place, room, entry);
      if (needed > room) return false;
      used += needed;
      if (counts) directory.counted.push_back(entry.attributes.inode);
      return true;
    };
    DEDUPFS_TRY(
        mount_of(req).filesystem().read_directory(inode, static_cast<std::uint64_t>(cookie), counted, visit, &stream));
    directory.bytes.resize(used);
    return directory;
  });
}

void op_readdir(fuse_req_t req, fuse_ino_t inode, std::size_t size, off_t cookie, fuse_file_info* info) {
  read_directory(req, inode, size, cookie, false, stream_of(info));
}

void op_readdirplus(fuse_req_t req, fuse_ino_t inode, std::size_t size, off_t cookie, fuse_file_info* info) {
  read_directory(req, inode, size, cookie, true, stream_of(info));
}

// --- attributes

void op_getattr(fuse_req_t req, fuse_ino_t inode, fuse_file_info*) {
  reply(req, [&] {
    FuseMount& mount = mount_of(req);
    return to_reply(mount, mount.filesystem().attributes(inode));
  });
}

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

void op_setattr(fuse_req_t req, fuse_ino_t inode, struct stat* wanted, int valid, fuse_file_info*) {
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

// --- files

Result<OpenedFile> open_counted(fuse_req_t req, InodeNumber inode, const fuse_file_info& asked) {
  FuseMount& mount = mount_of(req);
  const bool writer = (asked.flags & O_ACCMODE) != O_RDONLY;
  const OpenMode mode{.direct = mount.opens_directly(inode, asked.flags),
                      .o_direct = (asked.flags & O_DIRECT) != 0,
                      .writer = writer,
                      .durable = (asked.flags & O_DSYNC) != 0};
  if (writer) DEDUPFS_TRY(mount.filesystem().check_writable(inode));
  DEDUPFS_TRY(mount.filesystem().open_file(inode, (asked.flags & O_TRUNC) != 0, caller_of(req)));
  OpenedFile file{asked};
  auto handle = mount.open_files().open(inode, mode);
  file.info.direct_io = mode.direct;
  // Whatever changes the content drops its pages at that moment, so they are never stale here.
  file.info.keep_cache = !handle->drops_pages && !mount.notes_every_access();
  file.info.fh = reinterpret_cast<std::uint64_t>(handle.release());
  file.info.noflush = !writer;
  return file;
}

void op_open(fuse_req_t req, fuse_ino_t inode, fuse_file_info* info) {
  reply(req, [&] { return open_counted(req, inode, *info); });
}

void op_create(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode, fuse_file_info* info) {
  reply_to_change(req, [&]() -> Result<CreatedFile> {
    FuseMount& mount = mount_of(req);
    DEDUPFS_ASSIGN(const Attributes attributes, mount.filesystem().create(parent, name, mode, caller_of(req)));
    auto file = open_counted(req, attributes.inode, *info);
    if (!file) {
      mount.filesystem().forget(attributes.inode, 1);
      return file.error();
    }
    return CreatedFile{to_entry(mount, attributes), *file};
  });
}

void op_release(fuse_req_t req, fuse_ino_t, fuse_file_info* info) {
  survive("closing a file", [&] { take_back(mount_of(req), OpenedFile{*info}); });
  fuse_reply_err(req, 0);
}

void op_read(fuse_req_t req, fuse_ino_t inode, std::size_t size, off_t offset, fuse_file_info* info) {
  reply(req, [&] {
    Filesystem& filesystem = mount_of(req).filesystem();
    const auto from = static_cast<std::uint64_t>(offset);
    if (!came_directly(*info)) file_of(info).use->note_cached();
    if (const auto ahead = file_of(info).read_ahead.on_read(from, size)) {
      filesystem.prefetch(inode, ahead->offset, ahead->length);
    }
    const auto atime =
        (info->flags & O_NOATIME) != 0 ? Filesystem::AccessTime::kKept : Filesystem::AccessTime::kByPolicy;
    return filesystem.read(inode, from, size, atime);
  });
}

void op_flush(fuse_req_t req, fuse_ino_t inode, fuse_file_info* info) {
  reply(req, [&]() -> Result<void> {
    if (!file_of(info).mode.writer) return {};
    return mount_of(req).filesystem().flush_file(inode);
  });
}

void op_fsync(fuse_req_t req, fuse_ino_t inode, int, fuse_file_info*) {
  reply(req, [&] { return mount_of(req).filesystem().sync_file(inode); });
}

void op_fsyncdir(fuse_req_t req, fuse_ino_t, int, fuse_file_info*) {
  reply(req, [&] { return mount_of(req).filesystem().sync(); });
}

Result<Filesystem::AllocateMode> allocate_mode(int mode) {
  using enum Filesystem::AllocateMode;
  switch (mode) {
    case 0: return kExtend;
    case FALLOC_FL_KEEP_SIZE: return kKeepSize;
    case FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE: return kPunchHole;
    case FALLOC_FL_ZERO_RANGE: return kZeroRange;
    case FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE: return kZeroRangeKeepSize;
    default: return Error{ErrorCode::kUnsupported, "fallocate: unknown mode"};
  }
}

Result<void> sync_if_asked(FuseMount& mount, const OpenFile& file) {
  if (!file.mode.durable && !mount.is_sync()) return {};
  return mount.filesystem().sync_file(file.inode);
}

void op_fallocate(fuse_req_t req, fuse_ino_t inode, int mode, off_t offset, off_t length, fuse_file_info* info) {
  reply_to_content_change(req, {inode, static_cast<std::uint64_t>(offset)}, [&]() -> Result<void> {
    FuseMount& mount = mount_of(req);
    DEDUPFS_ASSIGN(const auto known_mode, allocate_mode(mode));
    const FuseCaller caller(req);
    const Result<void> allocated = mount.filesystem().allocate(inode, static_cast<std::uint64_t>(offset),
                                                               static_cast<std::uint64_t>(length), known_mode, caller);
    settle_mode(req, caller, inode);
    DEDUPFS_TRY(allocated);
    return sync_if_asked(mount, file_of(info));
  });
}

void op_lseek(fuse_req_t req, fuse_ino_t inode, off_t offset, int whence, fuse_file_info*) {
  const Result<std::uint64_t> found = attempt(req, [&]() -> Result<std::uint64_t> {
    Filesystem& filesystem = mount_of(req).filesystem();
    const auto from = static_cast<std::uint64_t>(offset);
    switch (whence) {
      case SEEK_DATA: return filesystem.seek_data(inode, from);
      case SEEK_HOLE: return filesystem.seek_hole(inode, from);
      default: return Error{ErrorCode::kInvalidArgument, "lseek: unknown whence"};
    }
  });
  if (!found && found.error().code() == ErrorCode::kNoData) {
    fuse_reply_err(req, ENXIO);
  } else if (!found) {
    answer(req, Result<Position>(found.error()));
  } else {
    answer(req, Result<Position>(Position{*found}));
  }
}

void op_copy_file_range(fuse_req_t req, fuse_ino_t from, off_t from_offset, fuse_file_info*, fuse_ino_t to,
                        off_t to_offset, fuse_file_info* to_info, std::size_t length, int) {
  reply_to_content_change(req, {to, static_cast<std::uint64_t>(to_offset)}, [&]() -> Result<Written> {
    FuseMount& mount = mount_of(req);
    const FuseCaller caller(req);
    DEDUPFS_ASSIGN(
        const std::uint64_t copied,
        mount.filesystem().copy_range(from, static_cast<std::uint64_t>(from_offset), to,
                                      static_cast<std::uint64_t>(to_offset), std::min(length, kMaxCopyBytes), caller));
    settle_mode(req, caller, to);
    DEDUPFS_TRY(sync_if_asked(mount, file_of(to_info)));
    return Written{copied};
  });
}

void op_statfs(fuse_req_t req, fuse_ino_t) {
  reply(
      req, [&]() -> Result<struct statvfs> {
        constexpr std::uint64_t kBlock = 4096;
        DEDUPFS_ASSIGN(const SpaceReport space, mount_of(req).filesystem().space());
        struct statvfs result {};
        result.f_bsize = result.f_frsize = kBlock;
        result.f_blocks = space.total_bytes / kBlock;
        result.f_bfree = result.f_bavail = space.available_bytes / kBlock;
        // Inodes take nothing but space: about a block each, for metadata and the smallest content.
        result.f_ffree = result.f_favail = result.f_bavail;
        result.f_files = space.inodes + result.f_ffree;
        result.f_namemax = kMaxName;
        return result;
      });
}

// An operation as libfuse calls it: what it throws before it has answered is its answer. It throws nothing afterwards.
template <auto kOperation>
struct Shielded;

template <class... Arguments, void (*kOperation)(fuse_req_t, Arguments...)>
struct Shielded<kOperation> {
  static void call(fuse_req_t req, Arguments... arguments) {
    const Result<void> done = guarded([&]() -> Result<void> {
      kOperation(req, arguments...);
      return {};
    });
    if (!done) fuse_reply_err(req, errno_of(done.error().code()));
  }
};

}  // namespace

const fuse_lowlevel_ops& fuse_operations() {
  // No getlk, setlk, flock: the kernel keeps locks itself, as for a local disk, and no thread of the daemon ever waits for one.
  static const fuse_lowlevel_ops operations = [] {
    fuse_lowlevel_ops ops{};
    ops.init = op_init;
    ops.lookup = Shielded<op_lookup>::call;
    ops.forget = Shielded<op_forget>::call;
    ops.forget_multi = Shielded<op_forget_multi>::call;
    ops.getattr = Shielded<op_getattr>::call;
    ops.setattr = Shielded<op_setattr>::call;
    ops.readlink = Shielded<op_readlink>::call;
    ops.mknod = Shielded<op_mknod>::call;
    ops.mkdir = Shielded<op_mkdir>::call;
    ops.unlink = Shielded<op_unlink>::call;
    ops.rmdir = Shielded<op_rmdir>::call;
    ops.symlink = Shielded<op_symlink>::call;
    ops.rename = Shielded<op_rename>::call;
    ops.link = Shielded<op_link>::call;
    ops.open = Shielded<op_open>::call;
    ops.read = Shielded<op_read>::call;
    ops.write = Shielded<op_write>::call;
    ops.flush = Shielded<op_flush>::call;
    ops.release = Shielded<op_release>::call;
    ops.fsync = Shielded<op_fsync>::call;
    ops.opendir = Shielded<op_opendir>::call;
    ops.readdir = Shielded<op_readdir>::call;
    ops.readdirplus = Shielded<op_readdirplus>::call;
    ops.releasedir = Shielded<op_releasedir>::call;
    ops.fsyncdir = Shielded<op_fsyncdir>::call;
    ops.statfs = Shielded<op_statfs>::call;
    ops.setxattr = Shielded<op_setxattr>::call;
    ops.getxattr = Shielded<op_getxattr>::call;
    ops.listxattr = Shielded<op_listxattr>::call;
    ops.removexattr = Shielded<op_removexattr>::call;
    ops.create = Shielded<op_create>::call;
    ops.fallocate = Shielded<op_fallocate>::call;
    ops.lseek = Shielded<op_lseek>::call;
    ops.copy_file_range = Shielded<op_copy_file_range>::call;
    return ops;
  }();
  return operations;
}

}  // namespace dedupfs
