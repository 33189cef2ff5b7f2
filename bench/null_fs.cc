// A filesystem that stores nothing. scripts/bench compares every figure of dedupfs with it, as the upper limit.
//
// It has one flat directory. Files can be created, truncated and removed, and know their size. Written bytes are dropped; read
// bytes come from one constant buffer. So it measures the kernel, libfuse and the copies between them. It uses them as dedupfs
// does: the low-level API, the multi-threaded loop of libfuse, requests of 1 MiB.
//
//   null_fs [-f] [-o direct_io] MOUNTPOINT      direct_io: every open bypasses the page cache
#define FUSE_USE_VERSION 34
#include <fuse_lowlevel.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

constexpr double kTimeoutSeconds = 3600;  // only the kernel changes anything
constexpr std::size_t kMaxRequestBytes = 1 << 20;

// Inode numbers are dense and never reused. A removed file keeps its place in the table.
class Files {
 public:
  fuse_ino_t create(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto [at, fresh] = names_.try_emplace(name, kFirstIno + sizes_.size());
    if (fresh) sizes_.push_back(0);
    return at->second;
  }
  fuse_ino_t find(const std::string& name) const {  // 0: no such file
    const std::lock_guard lock(mutex_);
    const auto at = names_.find(name);
    return at == names_.end() ? 0 : at->second;
  }
  bool remove(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return names_.erase(name) != 0;
  }
  std::uint64_t size(fuse_ino_t ino) const {
    const std::lock_guard lock(mutex_);
    return sizes_.at(ino - kFirstIno);
  }
  void resize(fuse_ino_t ino, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    sizes_.at(ino - kFirstIno) = bytes;
  }
  void grow(fuse_ino_t ino, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    std::uint64_t& size = sizes_.at(ino - kFirstIno);
    size = std::max(size, bytes);
  }
  std::map<std::string, fuse_ino_t> list() const {
    const std::lock_guard lock(mutex_);
    return names_;
  }

 private:
  static constexpr fuse_ino_t kFirstIno = FUSE_ROOT_ID + 1;
  mutable std::mutex mutex_;
  std::map<std::string, fuse_ino_t> names_;
  std::vector<std::uint64_t> sizes_;
};

struct Options {
  int direct_io = 0;
};

Files files;
Options options;
const std::vector<char> constant_bytes(kMaxRequestBytes, 'x');

struct stat attributes(fuse_ino_t ino) {
  struct stat st = {};
  st.st_ino = ino;
  st.st_uid = getuid();
  st.st_gid = getgid();
  st.st_nlink = 1;
  if (ino == FUSE_ROOT_ID) {
    st.st_mode = S_IFDIR | 0777;
  } else {
    st.st_mode = S_IFREG | 0666;
    st.st_size = static_cast<off_t>(files.size(ino));
    st.st_blocks = (st.st_size + 511) / 512;
  }
  return st;
}

fuse_entry_param entry(fuse_ino_t ino) {
  fuse_entry_param result = {};
  result.ino = ino;
  result.attr = attributes(ino);
  result.attr_timeout = result.entry_timeout = kTimeoutSeconds;
  return result;
}

void op_init(void*, fuse_conn_info* connection) {
  connection->max_write = kMaxRequestBytes;
}

void op_lookup(fuse_req_t req, fuse_ino_t, const char* name) {
  const fuse_ino_t ino = files.find(name);
  if (ino == 0) {
    fuse_reply_err(req, ENOENT);
    return;
  }
  const fuse_entry_param found = entry(ino);
  fuse_reply_entry(req, &found);
}

void op_getattr(fuse_req_t req, fuse_ino_t ino, fuse_file_info*) {
  const struct stat st = attributes(ino);
  fuse_reply_attr(req, &st, kTimeoutSeconds);
}

void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat* wanted, int to_set, fuse_file_info* file) {
  if (to_set & FUSE_SET_ATTR_SIZE) files.resize(ino, static_cast<std::uint64_t>(wanted->st_size));
  op_getattr(req, ino, file);  // mode, owner and times are accepted and forgotten
}

void op_open(fuse_req_t req, fuse_ino_t, fuse_file_info* file) {
  file->direct_io = options.direct_io != 0;
  file->keep_cache = 0;  // a second read comes here again
  fuse_reply_open(req, file);
}

void op_create(fuse_req_t req, fuse_ino_t, const char* name, mode_t, fuse_file_info* file) {
  const fuse_entry_param created = entry(files.create(name));
  file->direct_io = options.direct_io != 0;
  fuse_reply_create(req, &created, file);
}

void op_unlink(fuse_req_t req, fuse_ino_t, const char* name) {
  fuse_reply_err(req, files.remove(name) ? 0 : ENOENT);
}

void op_write(fuse_req_t req, fuse_ino_t ino, const char*, std::size_t bytes, off_t offset, fuse_file_info*) {
  files.grow(ino, static_cast<std::uint64_t>(offset) + bytes);
  fuse_reply_write(req, bytes);
}

void op_read(fuse_req_t req, fuse_ino_t ino, std::size_t bytes, off_t offset, fuse_file_info*) {
  const std::uint64_t size = files.size(ino);
  const std::uint64_t from = std::min(static_cast<std::uint64_t>(offset), size);
  fuse_reply_buf(req, constant_bytes.data(),
                 std::min({bytes, static_cast<std::size_t>(size - from), kMaxRequestBytes}));
}

void op_readdir(fuse_req_t req, fuse_ino_t, std::size_t bytes, off_t offset, fuse_file_info*) {
  std::vector<char> buffer(bytes);
  std::size_t used = 0;
  off_t position = 0;
  for (const auto& [name, ino] : files.list()) {
    if (++position <= offset) continue;
    const struct stat st = attributes(ino);
    const std::size_t need = fuse_add_direntry(req, buffer.data() + used, bytes - used, name.c_str(), &st, position);
    if (need > bytes - used) break;
    used += need;
  }
  fuse_reply_buf(req, buffer.data(), used);
}

void op_ok(fuse_req_t req, fuse_ino_t, fuse_file_info*) {
  fuse_reply_err(req, 0);
}
void op_fsync(fuse_req_t req, fuse_ino_t, int, fuse_file_info*) {
  fuse_reply_err(req, 0);
}

int serve(fuse_args* args, const fuse_cmdline_opts& command_line) {
  fuse_lowlevel_ops operations = {};
  operations.init = op_init;
  operations.lookup = op_lookup;
  operations.getattr = op_getattr;
  operations.setattr = op_setattr;
  operations.open = op_open;
  operations.create = op_create;
  operations.unlink = op_unlink;
  operations.write = op_write;
  operations.read = op_read;
  operations.readdir = op_readdir;
  operations.flush = op_ok;
  operations.release = op_ok;
  operations.fsync = op_fsync;

  const std::unique_ptr<fuse_session, decltype(&fuse_session_destroy)> session(
      fuse_session_new(args, &operations, sizeof operations, nullptr), fuse_session_destroy);
  if (!session || fuse_set_signal_handlers(session.get()) != 0) return 1;
  int result = 1;
  if (fuse_session_mount(session.get(), command_line.mountpoint) == 0) {
    fuse_daemonize(command_line.foreground);
    fuse_loop_config loop = {};
    loop.clone_fd = command_line.clone_fd;
    loop.max_idle_threads = command_line.max_idle_threads;
    result = fuse_session_loop_mt(session.get(), &loop) == 0 ? 0 : 1;
    fuse_session_unmount(session.get());
  }
  fuse_remove_signal_handlers(session.get());
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  fuse_args args = FUSE_ARGS_INIT(argc, argv);
  const fuse_opt specification[] = {{"direct_io", offsetof(Options, direct_io), 1}, FUSE_OPT_END};
  fuse_cmdline_opts command_line = {};
  if (fuse_opt_parse(&args, &options, specification, nullptr) != 0 || fuse_parse_cmdline(&args, &command_line) != 0 ||
      command_line.mountpoint == nullptr) {
    std::fprintf(stderr, "usage: null_fs [-f] [-o direct_io] MOUNTPOINT\n");
    return 2;
  }
  const int result = serve(&args, command_line);
  std::free(command_line.mountpoint);
  fuse_opt_free_args(&args);
  return result;
}
