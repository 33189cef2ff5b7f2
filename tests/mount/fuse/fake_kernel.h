// The kernel's end of a FUSE connection, without a mount: requests go to libfuse in memory, answers and invalidations come back.
//
// Threads: requests from one thread; answers and invalidations may come from others.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fuse.h>
#include <sys/uio.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/test_filesystem.h"
#include "mount/fuse/fuse_mount.h"
#include "mount/fuse/fuse_operations.h"

namespace dedupfs {

// The bytes of what the protocol sends.
template <class T>
std::string raw(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
inline std::string c_string(std::string_view text) {
  return std::string(text) + '\0';
}

class FakeKernel {
 public:
  static constexpr unsigned kMinorOfLinux65 = 38;  // keeps pages when a direct write passes them
  static constexpr unsigned kMinorOfLinux66 = 39;

  struct Answer {
    std::uint64_t request = 0;  // 0: an invalidation, whose kind is `error`
    int error = 0;              // 0 or a positive errno
    std::string bytes;

    // The bytes from `offset` on, as the protocol has them.
    template <class T>
    T as(std::size_t offset = 0) const {
      T value{};
      EXPECT_GE(bytes.size(), offset + sizeof value) << "error " << error;
      if (bytes.size() >= offset + sizeof value) std::memcpy(&value, bytes.data() + offset, sizeof value);
      return value;
    }
  };

  explicit FakeKernel(FuseMount& mount, unsigned minor = kMinorOfLinux65) : mount_(mount) {
    EXPECT_EQ(current_.load(), nullptr) << "one at a time";
    current_ = this;
    char name[] = "test";
    char* arguments[] = {name, nullptr};
    fuse_args list = FUSE_ARGS_INIT(1, arguments);
    session_ = fuse_session_new(&list, &fuse_operations(), known_operations_bytes(), &mount_);
    fuse_opt_free_args(&list);
    // libfuse takes a descriptor that is mounted already, and writes its answers there: writev() of fake_kernel.cc. fuse_session_custom_io(), which is
    // made for this, is not in each distribution's library.
    descriptor_ = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    EXPECT_EQ(fuse_session_mount(session_, ("/dev/fd/" + std::to_string(descriptor_)).c_str()), 0);
    mount_.attach(session_);
    fuse_init_in init{};
    init.major = FUSE_KERNEL_VERSION;
    init.minor = minor;
    init.max_readahead = 16 << 20;
    init.flags = UINT32_MAX ^ (1u << 30);  // all but FUSE_INIT_EXT
    init_ = ask(FUSE_INIT, 0, raw(init)).as<fuse_init_out>();
  }
  ~FakeKernel() {
    mount_.finish_invalidations();
    fuse_session_destroy(session_);
    current_ = nullptr;
  }
  FakeKernel(const FakeKernel&) = delete;
  FakeKernel& operator=(const FakeKernel&) = delete;

  // The user of the requests that follow.
  void become(std::uint32_t uid, std::uint32_t gid) {
    uid_ = uid;
    gid_ = gid;
  }
  // The callers are killed before they get their answers.
  void kill_callers(bool killed) {
    const std::lock_guard lock(mutex_);
    callers_are_killed_ = killed;
  }

  Answer ask(fuse_opcode operation, InodeNumber inode, const std::string& arguments = {}) {
    const std::uint64_t request = tell(operation, inode, arguments);
    return await([request](const Answer& answer) { return answer.request == request; });
  }
  // For those that have no answer. Returns the number of the request.
  std::uint64_t tell(fuse_opcode operation, InodeNumber inode, const std::string& arguments) {
    fuse_in_header header{};
    header.len = static_cast<std::uint32_t>(sizeof header + arguments.size());
    header.opcode = operation;
    header.unique = ++last_request_;
    header.nodeid = inode;
    header.uid = uid_;
    header.gid = gid_;
    std::string message = raw(header) + arguments;
    fuse_buf buffer{};
    buffer.size = message.size();
    buffer.mem = message.data();
    fuse_session_process_buf(session_, &buffer);
    return header.unique;
  }

  // The first invalidation of this kind that was not asked for yet.
  Answer await_invalidation(int kind = FUSE_NOTIFY_INVAL_INODE) {
    return await([kind](const Answer& answer) { return answer.request == 0 && answer.error == kind; });
  }
  // What came, in order, and was not asked for yet.
  std::vector<Answer> rest() {
    const std::lock_guard lock(mutex_);
    return std::exchange(came_, {});
  }

  const fuse_init_out& init() const { return init_; }

  // What libfuse writes, if it is an answer to this kernel.
  static std::optional<ssize_t> written(int descriptor, const iovec* pieces, int count) {
    FakeKernel* const kernel = current_;
    if (kernel == nullptr || kernel->descriptor_ != descriptor) return std::nullopt;
    return kernel->take(pieces, count);
  }

 private:
  ssize_t take(const iovec* pieces, int count) {
    std::string message;
    for (int i = 0; i < count; ++i) message.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
    fuse_out_header header{};
    std::memcpy(&header, message.data(), sizeof header);
    EXPECT_EQ(header.len, message.size());
    const std::lock_guard lock(mutex_);
    const bool refused = callers_are_killed_ && header.unique != 0;
    came_.push_back({.request = header.unique,
                     .error = header.unique == 0 ? header.error
                              : refused          ? ENOENT
                                                 : -header.error,
                     .bytes = refused ? "" : message.substr(sizeof header)});
    changed_.notify_all();
    errno = ENOENT;
    return refused ? -1 : static_cast<ssize_t>(message.size());
  }

  template <class IsWanted>
  Answer await(const IsWanted& is_wanted) {
    std::unique_lock lock(mutex_);
    std::vector<Answer>::iterator found;
    const auto is_there = [&] { return (found = std::find_if(came_.begin(), came_.end(), is_wanted)) != came_.end(); };
    if (!changed_.wait_for(lock, std::chrono::seconds(10), is_there)) {
      ADD_FAILURE() << "nothing came";
      return {};
    }
    Answer answer = std::move(*found);
    came_.erase(found);
    return answer;
  }

  static inline std::atomic<FakeKernel*> current_ = nullptr;

  FuseMount& mount_;
  fuse_session* session_ = nullptr;
  int descriptor_ = -1;
  fuse_init_out init_{};
  std::uint64_t last_request_ = 0;
  std::uint32_t uid_ = 0;
  std::uint32_t gid_ = 0;
  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  std::vector<Answer> came_;
  bool callers_are_killed_ = false;
};

// A filesystem that this kernel asks.
struct AskedFilesystem {
  explicit AskedFilesystem(const MountOptions& options = {}, unsigned minor = FakeKernel::kMinorOfLinux65)
      : mount(*fs, options), kernel(mount, minor) {}

  TestFilesystem fs;
  FuseMount mount;
  FakeKernel kernel;

  // --- short forms
  // Without a reference.
  InodeNumber file(std::string_view name, std::string_view content = {}) {
    const InodeNumber inode = fs.make_file(kRootInode, name, content);
    fs->forget(inode, 1);
    return inode;
  }
  // The handle.
  std::uint64_t open(InodeNumber inode, int flags) {
    fuse_open_in asked{};
    asked.flags = static_cast<std::uint32_t>(flags);
    return kernel.ask(FUSE_OPEN, inode, raw(asked)).as<fuse_open_out>().fh;
  }
  static OpenFile& handle(std::uint64_t fh) { return *reinterpret_cast<OpenFile*>(fh); }
  void release(InodeNumber inode, std::uint64_t fh) {
    fuse_release_in asked{};
    asked.fh = fh;
    EXPECT_EQ(kernel.ask(FUSE_RELEASE, inode, raw(asked)).error, 0);
  }
  // Past the page cache if it has a lock owner.
  FakeKernel::Answer write(InodeNumber inode, std::uint64_t fh, std::uint64_t offset, std::string_view bytes,
                           std::uint64_t lock_owner = 0, int flags = O_WRONLY) {
    fuse_write_in asked{};
    asked.fh = fh;
    asked.offset = offset;
    asked.size = static_cast<std::uint32_t>(bytes.size());
    asked.lock_owner = lock_owner;
    asked.flags = static_cast<std::uint32_t>(flags);
    return kernel.ask(FUSE_WRITE, inode, raw(asked) + std::string(bytes));
  }
  FakeKernel::Answer read(InodeNumber inode, std::uint64_t fh, std::uint64_t offset, std::uint32_t length,
                          std::uint64_t lock_owner = 0) {
    fuse_read_in asked{};
    asked.fh = fh;
    asked.offset = offset;
    asked.size = length;
    asked.lock_owner = lock_owner;
    return kernel.ask(FUSE_READ, inode, raw(asked));
  }
  FakeKernel::Answer lookup(InodeNumber parent, std::string_view name) {
    return kernel.ask(FUSE_LOOKUP, parent, c_string(name));
  }
  void forget(InodeNumber inode, std::uint64_t count = 1) {
    fuse_forget_in asked{};
    asked.nlookup = count;
    kernel.tell(FUSE_FORGET, inode, raw(asked));
  }
  // Whether nobody has a reference to it any more: the name goes, and then the inode does.
  bool is_unreferenced(std::string_view name) {
    const std::uint64_t inodes = value_of(fs->space()).inodes;
    EXPECT_TRUE(ok(fs->unlink(kRootInode, name)));
    return fs.inodes_become(inodes - 1);
  }
};

}  // namespace dedupfs
