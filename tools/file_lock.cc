#include "file_lock.h"

#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <utility>
#include <vector>

namespace dedupfs::tools {
namespace {

// The descriptors of all locks. A child closes its copies at once: close-on-exec does nothing for one that runs no program.
std::vector<int>& held_locks() {
  static std::vector<int> held;
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] {
    for (const int descriptor : held) ::close(descriptor);
    held.clear();
  });
  (void)registered;
  return held;
}

}  // namespace

FileLock::FileLock(UniqueFd file) : file_(std::move(file)) {
  held_locks().push_back(file_.get());
}

FileLock::~FileLock() {
  if (!file_) return;
  // In a child it is closed already, and the number may be that of another file.
  if (std::erase(held_locks(), file_.get()) == 0) (void)file_.release();
}

Result<FileLock> FileLock::take(UniqueFd file, const Path& path, const std::string& busy,
                                std::chrono::milliseconds longest) {
  const auto end = std::chrono::steady_clock::now() + longest;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return Error::from_errno(errno, path.string());
    if (std::chrono::steady_clock::now() >= end) return Error{ErrorCode::kBusy, busy};
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return FileLock(std::move(file));
}

}  // namespace dedupfs::tools
