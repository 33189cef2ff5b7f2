#include "fs/background/checkpointer.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/check.h"
#include "base/guarded.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kMinBytes = 1 << 20;  // of free space, and twice the last checkpoint
constexpr int kShareOfTime = 50;

UuidBytes uuid_of(const Volume& volume) {
  const auto uuid = parse_uuid(volume.superblock().uuid);
  DEDUPFS_CHECK(uuid);  // the containers were opened with it
  return *uuid;
}

}  // namespace

Checkpointer::Checkpointer(Volume& volume, std::chrono::milliseconds interval, HasRoom has_room)
    : interval_(interval),
      has_room_(std::move(has_room)),
      volume_(volume),
      checkpoints_(volume.folder(), uuid_of(volume)) {
  if (interval_.count() != 0) thread_ = std::thread([this] { run(); });
}

Checkpointer::~Checkpointer() {
  stop();
}

void Checkpointer::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wakeup_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Checkpointer::run() {
  const MutexLock lock(mutex_);
  for (Clock::duration pause = interval_;;) {
    if (wakeup_.wait_for(mutex_, pause, [this] { return stopping_.load(); })) return;
    const MutexUnlock unlocked(mutex_);
    const auto begin = Clock::now();
    if (changed_)
      survive("taking a checkpoint", [this] { take_in_background([this](std::uint64_t) { return !stopping_; }); });
    pause = std::max<Clock::duration>(interval_, (Clock::now() - begin) * kShareOfTime);
  }
}

Result<void> Checkpointer::take(const Checkpoints::GoesOn& goes_on) {
  const MutexLock one_at_a_time(taking_);
  DEDUPFS_ASSIGN(const auto older, checkpoints_.list());
  if (!has_room_(kMinBytes + (older.empty() ? 0 : 2 * older.front().bytes)))
    return Error{ErrorCode::kNoSpace, "the disk has too little room for another one"};
  changed_ = false;
  auto written = checkpoints_.write(volume_.database(), goes_on);
  if (!written) changed_ = true;
  return written;
}

void Checkpointer::take_in_background(const Checkpoints::GoesOn& goes_on) {
  const Result<void> taken = take(goes_on);
  if (taken || taken.error().code() == ErrorCode::kInterrupted) return;
  spdlog::warn("no checkpoint could be written: {}", taken.error().message());
}

void Checkpointer::take_now() {
  if (interval_.count() != 0 && changed_) take_in_background([](std::uint64_t) { return true; });
}

bool Checkpointer::is_behind() const {
  if (interval_.count() == 0) return false;
  const auto found = checkpoints_.list();
  return !volume_.was_closed() || checkpoints_.has_unfinished() || (found && found->empty());
}

Result<void> Checkpointer::finish(const Checkpoints::GoesOn& goes_on) {
  stop();
  if (interval_.count() == 0 || !changed_) return {};
  Result<void> taken = take(goes_on);
  if (!taken) checkpoints_.leave_unfinished();
  return taken;
}

}  // namespace dedupfs
