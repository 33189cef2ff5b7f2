#include "store/volume/volume_lock.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <optional>
#include <string>
#include <string_view>

#include "store/format/format.h"

namespace dedupfs {
namespace {

// The process that wrote itself into the lock file, if it still runs.
std::optional<pid_t> holder_of(const BackingFile& lock) {
  std::array<std::uint8_t, 16> bytes{};
  const auto length = lock.read_up_to(0, bytes);
  if (!length) return std::nullopt;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), *length);
  pid_t holder = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), holder).ec != std::errc() || holder <= 0)
    return std::nullopt;
  if (::kill(holder, 0) != 0 && errno == ESRCH) return std::nullopt;
  return holder;
}

Result<std::unique_ptr<BackingFile>> open_lock_file(BackingFolder& volume, bool read_only) {
  auto lock = volume.open(kLockFile, read_only ? Backing::Mode::kRead : Backing::Mode::kOpenOrCreate);
  if (lock) return lock;
  switch (lock.error().code()) {
    case ErrorCode::kReadOnly:
      return Error{ErrorCode::kReadOnly,
                   volume.path().string() +
                       " is on a read-only disk: it can be read, and changed only after the disk is "
                       "mounted for writing (mount -o remount,rw)"};
    case ErrorCode::kCorruption:
      return Error{ErrorCode::kCorruption, lock.error().message() + "; remove it and try again"};
    case ErrorCode::kNotFound:
      // Every writer leaves a lock file, so nobody writes here, and a reader must not make one.
      if (read_only) return std::unique_ptr<BackingFile>();
      [[fallthrough]];
    default: return lock;
  }
}

}  // namespace

Result<std::unique_ptr<BackingFile>> take_lock(BackingFolder& volume, bool read_only) {
  DEDUPFS_ASSIGN(auto lock, open_lock_file(volume, read_only));
  if (!lock) return lock;
  DEDUPFS_ASSIGN(const bool taken,
                 lock->try_lock(read_only ? BackingFile::LockMode::kShared : BackingFile::LockMode::kExclusive));
  if (!taken) {
    const auto holder = holder_of(*lock);
    return Error{ErrorCode::kBusy, volume.path().string() + " is mounted or in use by " +
                                       (holder ? "process " + std::to_string(*holder) : "another process") +
                                       "; unmount it first"};
  }
  if (!read_only) {
    // For the message above only: the lock holds without it.
    const std::string holder = std::to_string(::getpid()) + "\n";
    if (lock->truncate(0)) (void)lock->write(0, bytes_of(holder));
  }
  return lock;
}

}  // namespace dedupfs
