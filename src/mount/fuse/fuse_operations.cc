#include "mount/fuse/fuse_operations.h"

#include <sys/statvfs.h>

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

void op_statfs(fuse_req_t req, fuse_ino_t) {
  reply(
      req, [&]() -> Result<struct statvfs> {
        constexpr std::uint64_t kBlock = 4096;
        DEDUPFS_ASSIGN(const SpaceReport space, mount_of(req).filesystem().space());
        struct statvfs result {};
        result.f_bsize = result.f_frsize = kBlock;
        result.f_blocks = space.total_bytes / kBlock;
        result.f_bfree = result.f_bavail = space.available_bytes / kBlock;
        // An inode takes only space: about a block for metadata and the smallest content.
        result.f_ffree = result.f_favail = result.f_bavail;
        result.f_files = space.inodes + result.f_ffree;
        result.f_namemax = kMaxName;
        return result;
      });
}

// An operation as libfuse calls it: an exception before the answer becomes the answer. The operation throws nothing afterwards.
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
