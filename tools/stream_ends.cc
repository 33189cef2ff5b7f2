#include "stream_ends.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace dedupfs::tools {
namespace {

constexpr int kLookMilliseconds = 200;

// Until the descriptor can be used, whatever then comes of it.
Result<void> wait_for(int descriptor, short events, const std::string& what, const Process& process,
                      const GoOn& go_on = nullptr) {
  for (;;) {
    if (process.stop_was_asked_for()) return Error{ErrorCode::kInterrupted, "stopped"};
    if (go_on) DEDUPFS_TRY(go_on());
    pollfd polled{descriptor, events, 0};
    const int ready = ::poll(&polled, 1, kLookMilliseconds);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return Error::from_errno(errno, what);
  }
}

}  // namespace

StreamSink stream_to(int descriptor, const std::string& what, const Process& process) {
  return [descriptor, what, &process](ByteSpan bytes) -> Result<void> {
    while (!bytes.empty()) {
      DEDUPFS_TRY(wait_for(descriptor, POLLOUT, what, process));
      const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (count < 0 && errno == EPIPE) return Error{ErrorCode::kIo, what + ": whoever read it has ended"};
      if (count <= 0) return Error::from_errno(errno, what);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return {};
  };
}

WaitingSource stream_from(int descriptor, const std::string& what, const Process& process) {
  return [descriptor, what, &process](MutableByteSpan room, const GoOn& still_wanted) -> Result<std::size_t> {
    for (;;) {
      DEDUPFS_TRY(wait_for(descriptor, POLLIN, what, process, still_wanted));
      const ssize_t count = ::read(descriptor, room.data(), room.size());
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR && errno != EAGAIN) return Error::from_errno(errno, what);
    }
  };
}

Result<NewStreamFile> NewStreamFile::create(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file && errno == EEXIST)
    return Error{ErrorCode::kExists, path + " is there already: remove it, or choose another name"};
  if (!file) return Error::from_errno(errno, path);
  return NewStreamFile(path, std::move(file));
}

NewStreamFile::NewStreamFile(NewStreamFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), file_(std::move(other.file_)) {}

NewStreamFile::~NewStreamFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

Result<void> NewStreamFile::keep() {
  if (::fsync(file_.get()) != 0) return Error::from_errno(errno, path_);
  path_.clear();
  return {};
}

}  // namespace dedupfs::tools
