#include "store/volume/ballast.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "store/volume/disk_reserve.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kStepBytes = 1 << 20;  // it does not change for less
constexpr std::uint64_t kLookBytes = Ballast::kMinBytes / 4;

// Room that the disk promises, which only the operating system can do. The file is as long as before if there is none.
Result<void> allocate_below(int folder, std::uint64_t before, std::uint64_t bytes) {
  const std::string name(kBallastFile);
  const UniqueFd file(::openat(folder, name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!file) return Error::from_errno(errno, name);
  int error = 0;
  do {
    error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  } while (error == EINTR);
  if (error == 0) return {};
  [[maybe_unused]] const int ignored = ::ftruncate(file.get(), static_cast<off_t>(before));
  return Error::from_errno(error, name);
}

}  // namespace

std::uint64_t log_bytes_in(BackingFolder& index) {
  std::uint64_t bytes = 0;
  const auto names = index.list();
  if (!names) return 0;
  for (const std::string& name : *names) {
    if (!name.ends_with(".log")) continue;
    const auto log = index.open(name, Backing::Mode::kRead);
    if (!log) continue;
    if (const auto size = (*log)->size()) bytes += *size;
  }
  return bytes;
}

Ballast::Ballast(std::shared_ptr<BackingFolder> volume, std::shared_ptr<BackingFolder> index)
    : volume_(std::move(volume)), index_(std::move(index)) {
  const auto file = volume_->open(kBallastFile, Backing::Mode::kRead);
  if (!file) return;
  if (const auto size = (*file)->size()) bytes_ = *size;
}

void Ballast::keep() {
  written_since_ = 0;
  keep_for(log_bytes_in(*index_));
}

void Ballast::keep_with(std::uint64_t more_log_bytes) {
  written_since_ += more_log_bytes;
  if (written_since_ < kLookBytes && bytes_ >= kMinBytes) return;
  written_since_ = 0;
  keep_for(log_bytes_in(*index_) + more_log_bytes);
}

void Ballast::keep_least() {
  keep_for(0);
}

void Ballast::keep_for(std::uint64_t log_bytes) {
  if (!std::exchange(is_allocated_, true)) (void)release();
  const std::uint64_t steps = log_bytes < kLookBytes ? 0 : (log_bytes + kStepBytes - 1) / kStepBytes;
  const std::uint64_t wanted = kMinBytes + steps * kStepBytes;
  if (wanted == bytes_) return;
  if (wanted < bytes_) return resize(wanted);
  const auto space = volume_->space();
  if (!space) return;
  const std::uint64_t reserve = reserve_of(*space);
  const std::uint64_t beside_reserve = space->available_bytes > reserve ? space->available_bytes - reserve : 0;
  const std::uint64_t at_least = std::min(kMinBytes, bytes_ + space->available_bytes / 2);
  const std::uint64_t bytes = std::max(std::min(wanted, bytes_ + beside_reserve), at_least);
  if (bytes > bytes_) resize(bytes);
}

bool Ballast::release_if_scarce() {
  const auto space = volume_->space();
  return space && space->available_bytes < std::max(bytes_, kMinBytes) && release();
}

bool Ballast::release() {
  if (bytes_ == 0) return false;
  resize(0);
  return bytes_ == 0;
}

void Ballast::resize(std::uint64_t bytes) {
  const Result<void> resized = allocate(bytes);
  if (resized)
    bytes_ = bytes;
  else
    spdlog::debug("no room is kept for the next mount: {}", resized.error().message());
}

Result<void> Ballast::allocate(std::uint64_t bytes) const {
  if (const auto folder = volume_->descriptor(); folder && bytes > bytes_)
    return allocate_below(*folder, bytes_, bytes);
  DEDUPFS_ASSIGN(const auto file, volume_->open(kBallastFile, Backing::Mode::kOpenOrCreate));
  return file->truncate(bytes);
}

}  // namespace dedupfs
