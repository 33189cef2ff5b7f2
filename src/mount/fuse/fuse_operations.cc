#include "mount/fuse/fuse_operations.h"

#include <sys/statvfs.h>

#include <cstddef>

#include "mount/fuse/fuse_reply.h"
#include "mount/fuse/fuse_requests.h"
#include "mount/fuse/fuse_write.h"

namespace dedupfs {

namespace {

void op_init(void* userdata, fuse_conn_info* connection) {
  FuseMount& mount = *static_cast<FuseMount*>(userdata);
  mount.negotiate(*connection);
  survive("the start of the mount", [&] { mount.connected(); });
}

void op_statfs(fuse_req_t req, fuse_ino_t inode) {
  reply(
      req, [&]() -> Result<struct statvfs> {
        constexpr std::uint64_t kBlock = 4096;
        DEDUPFS_ASSIGN(const TreeSpace space, mount_of(req).filesystem().space_of(inode));
        struct statvfs result {};
        result.f_bsize = result.f_frsize = kBlock;
        result.f_blocks = space.total_bytes / kBlock;
        result.f_bfree = space.free_bytes / kBlock;
        result.f_bavail = space.available_bytes / kBlock;
        result.f_ffree = result.f_favail = space.free_inodes;
        result.f_files = space.inodes + result.f_ffree;
        result.f_namemax = kMaxName;
        return result;
      });
}

// An operation as libfuse calls it: an exception before the answer becomes the answer. The operation throws nothing afterwards. It is
// counted as a request of its kind.
template <auto kOperation, RequestKind kKind>
struct Shielded;

template <class... Arguments, void (*kOperation)(fuse_req_t, Arguments...), RequestKind kKind>
struct Shielded<kOperation, kKind> {
  static void call(fuse_req_t req, Arguments... arguments) {
    const CurrentRequest current(MeteredRequest::begin(mount_of(req).request_meters(), kKind));
    const Result<void> done = guarded([&]() -> Result<void> {
      kOperation(req, arguments...);
      return {};
    });
    if (done) return;
    note_answer(done);
    fuse_reply_err(req, errno_of(done.error().code()));
  }
};

}  // namespace

const fuse_lowlevel_ops& fuse_operations() {
  // No getlk, setlk, flock: the kernel keeps locks itself, as for a local disk, and no thread of the daemon ever waits for one.
  static const fuse_lowlevel_ops operations = [] {
    fuse_lowlevel_ops ops{};
    ops.init = op_init;
    ops.lookup = Shielded<op_lookup, RequestKind::kLookup>::call;
    ops.forget = Shielded<op_forget, RequestKind::kForget>::call;
    ops.forget_multi = Shielded<op_forget_multi, RequestKind::kForget>::call;
    ops.getattr = Shielded<op_getattr, RequestKind::kGetattr>::call;
    ops.setattr = Shielded<op_setattr, RequestKind::kSetattr>::call;
    ops.readlink = Shielded<op_readlink, RequestKind::kReadlink>::call;
    ops.mknod = Shielded<op_mknod, RequestKind::kMknod>::call;
    ops.mkdir = Shielded<op_mkdir, RequestKind::kMkdir>::call;
    ops.unlink = Shielded<op_unlink, RequestKind::kUnlink>::call;
    ops.rmdir = Shielded<op_rmdir, RequestKind::kRmdir>::call;
    ops.symlink = Shielded<op_symlink, RequestKind::kSymlink>::call;
    ops.rename = Shielded<op_rename, RequestKind::kRename>::call;
    ops.link = Shielded<op_link, RequestKind::kLink>::call;
    ops.open = Shielded<op_open, RequestKind::kOpen>::call;
    ops.read = Shielded<op_read, RequestKind::kRead>::call;
    ops.write = Shielded<op_write, RequestKind::kWrite>::call;
    ops.flush = Shielded<op_flush, RequestKind::kFlush>::call;
    ops.release = Shielded<op_release, RequestKind::kRelease>::call;
    ops.fsync = Shielded<op_fsync, RequestKind::kFsync>::call;
    ops.opendir = Shielded<op_opendir, RequestKind::kOpendir>::call;
    ops.readdir = Shielded<op_readdir, RequestKind::kReaddir>::call;
    ops.readdirplus = Shielded<op_readdirplus, RequestKind::kReaddir>::call;
    ops.releasedir = Shielded<op_releasedir, RequestKind::kReleasedir>::call;
    ops.fsyncdir = Shielded<op_fsyncdir, RequestKind::kFsyncdir>::call;
    ops.statfs = Shielded<op_statfs, RequestKind::kStatfs>::call;
    ops.setxattr = Shielded<op_setxattr, RequestKind::kSetxattr>::call;
    ops.getxattr = Shielded<op_getxattr, RequestKind::kGetxattr>::call;
    ops.listxattr = Shielded<op_listxattr, RequestKind::kListxattr>::call;
    ops.removexattr = Shielded<op_removexattr, RequestKind::kRemovexattr>::call;
    ops.create = Shielded<op_create, RequestKind::kCreate>::call;
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
    ops.tmpfile = Shielded<op_tmpfile, RequestKind::kCreate>::call;
#endif
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 18)
    ops.statx = statx_reply_of_libfuse() == nullptr ? nullptr : Shielded<op_statx, RequestKind::kGetattr>::call;
#endif
    ops.fallocate = Shielded<op_fallocate, RequestKind::kFallocate>::call;
    ops.lseek = Shielded<op_lseek, RequestKind::kLseek>::call;
    ops.copy_file_range = Shielded<op_copy_file_range, RequestKind::kCopyFileRange>::call;
    return ops;
  }();
  return operations;
}

std::size_t known_operations_bytes() {
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 18)
  if (fuse_version() < FUSE_MAKE_VERSION(3, 18)) return offsetof(fuse_lowlevel_ops, statx);
#endif
  return sizeof(fuse_lowlevel_ops);
}

}  // namespace dedupfs
