#include "mount/fuse/kernel_connection.h"

#include <fmt/format.h>
#include <linux/fuse.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <memory>

#include "base/unique_fd.h"
#include "mount/fuse/fuse_api.h"

namespace dedupfs {
namespace {

struct Capability {
  std::string_view name;
  std::uint64_t bit = 0;
};

// In alphabetical order. Newer libraries know more of them.
constexpr auto kCapabilities = std::to_array<Capability>({
    {"async_dio", FUSE_CAP_ASYNC_DIO},
    {"async_read", FUSE_CAP_ASYNC_READ},
    {"atomic_o_trunc", FUSE_CAP_ATOMIC_O_TRUNC},
    {"auto_inval_data", FUSE_CAP_AUTO_INVAL_DATA},
    {"cache_symlinks", FUSE_CAP_CACHE_SYMLINKS},
#ifdef FUSE_CAP_DIRECT_IO_ALLOW_MMAP
    {"direct_io_allow_mmap", FUSE_CAP_DIRECT_IO_ALLOW_MMAP},
#endif
    {"dont_mask", FUSE_CAP_DONT_MASK},
    {"expire_only", FUSE_CAP_EXPIRE_ONLY},
    {"explicit_inval_data", FUSE_CAP_EXPLICIT_INVAL_DATA},
    {"export_support", FUSE_CAP_EXPORT_SUPPORT},
    {"flock_locks", FUSE_CAP_FLOCK_LOCKS},
    {"handle_killpriv", FUSE_CAP_HANDLE_KILLPRIV},
#ifdef FUSE_CAP_HANDLE_KILLPRIV_V2
    {"handle_killpriv_v2", FUSE_CAP_HANDLE_KILLPRIV_V2},
#endif
    {"ioctl_dir", FUSE_CAP_IOCTL_DIR},
#ifdef FUSE_CAP_NO_EXPORT_SUPPORT
    {"no_export_support", FUSE_CAP_NO_EXPORT_SUPPORT},
#endif
    {"no_open_support", FUSE_CAP_NO_OPEN_SUPPORT},
    {"no_opendir_support", FUSE_CAP_NO_OPENDIR_SUPPORT},
#ifdef FUSE_CAP_OVER_IO_URING
    {"over_io_uring", FUSE_CAP_OVER_IO_URING},
#endif
    {"parallel_dirops", FUSE_CAP_PARALLEL_DIROPS},
#ifdef FUSE_CAP_PASSTHROUGH
    {"passthrough", FUSE_CAP_PASSTHROUGH},
#endif
    {"posix_acl", FUSE_CAP_POSIX_ACL},
    {"posix_locks", FUSE_CAP_POSIX_LOCKS},
    {"readdirplus", FUSE_CAP_READDIRPLUS},
    {"readdirplus_auto", FUSE_CAP_READDIRPLUS_AUTO},
#ifdef FUSE_CAP_SETXATTR_EXT
    {"setxattr_ext", FUSE_CAP_SETXATTR_EXT},
#endif
    {"splice_move", FUSE_CAP_SPLICE_MOVE},
    {"splice_read", FUSE_CAP_SPLICE_READ},
    {"splice_write", FUSE_CAP_SPLICE_WRITE},
    {"writeback_cache", FUSE_CAP_WRITEBACK_CACHE},
});

std::vector<std::string_view> names_of(std::uint64_t capabilities) {
  std::vector<std::string_view> names;
  for (const Capability& capability : kCapabilities)
    if ((capabilities & capability.bit) != 0) names.push_back(capability.name);
  return names;
}

std::uint64_t page_bytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

KernelConnection kernel_connection_of(const fuse_conn_info& connection, std::optional<FuseProtocol> daemon_protocol) {
  const std::uint64_t used = connection.want;
#ifdef FUSE_CAP_OVER_IO_URING
  const bool io_uring = (used & FUSE_CAP_OVER_IO_URING) != 0;
#else
  const bool io_uring = false;
#endif
  return {.libfuse_version = fuse_pkgversion(),
          .kernel_protocol = {connection.proto_major, connection.proto_minor},
          .daemon_protocol = daemon_protocol,
          .offered = names_of(connection.capable),
          .used = names_of(used),
          .largest_request_bytes = std::min<std::uint64_t>(connection.max_write, largest_request_of_kernel()),
          .largest_read_ahead_bytes = connection.max_readahead,
          .max_background = connection.max_background,
          .io_uring = io_uring};
}

std::optional<FuseProtocol> protocol_of_libfuse() {
  struct Asked {
    fuse_in_header header{};
    fuse_init_in init{};
  } asked;
  struct Answer {
    fuse_out_header header{};
    fuse_init_out init{};
  } answer;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return std::nullopt;
  const UniqueFd kernel(ends[0]);
  UniqueFd device(ends[1]);
  char name[] = "dedupfs";
  char* words[] = {name, nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(1, words);
  const fuse_lowlevel_ops no_operations{};
  const std::unique_ptr<fuse_session, void (*)(fuse_session*)> session(
      fuse_session_new(&arguments, &no_operations, offsetof(fuse_lowlevel_ops, lookup), nullptr), fuse_session_destroy);
  fuse_opt_free_args(&arguments);
  if (!session || fuse_session_mount(session.get(), fmt::format("/dev/fd/{}", device.get()).c_str()) != 0)
    return std::nullopt;
  (void)device.release();  // the session closes it
  asked.header.len = sizeof asked;
  asked.header.opcode = FUSE_INIT;
  asked.header.unique = 1;
  asked.init.major = FUSE_KERNEL_VERSION;
  asked.init.minor = FUSE_KERNEL_MINOR_VERSION;
  fuse_buf message{};
  message.size = sizeof asked;
  message.mem = &asked;
  fuse_session_process_buf(session.get(), &message);
  const ssize_t length = ::recv(kernel.get(), &answer, sizeof answer, MSG_DONTWAIT);
  if (length < static_cast<ssize_t>(sizeof answer.header + 2 * sizeof answer.init.major) || answer.header.error != 0)
    return std::nullopt;
  return FuseProtocol{answer.init.major, answer.init.minor};
}

std::uint64_t largest_request_of_kernel() {
  constexpr std::uint64_t kPagesBeforeLinux612 = 256;
  std::uint64_t pages = 0;
  std::ifstream("/proc/sys/fs/fuse/max_pages_limit") >> pages;
  return (pages == 0 ? kPagesBeforeLinux612 : pages) * page_bytes();
}

}  // namespace dedupfs
