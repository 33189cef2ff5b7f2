#include "fs/background/checkpointer.h"

#include <spdlog/spdlog.h>

#include "base/check.h"

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
  if (interval_.count() == 0) return;
  thread_.start({.name = "checkpoints",
                 .doing = "taking a checkpoint",
                 .first = interval_,
                 .interval = interval_,
                 .times_longer = kShareOfTime},
                [this] {
                  if (changed_) take_in_background([this](std::uint64_t) { return !thread_.is_stopping(); });
                });
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
  thread_.stop();
  if (interval_.count() == 0 || !changed_) return {};
  Result<void> taken = take(goes_on);
  if (!taken) checkpoints_.leave_unfinished();
  return taken;
}

}  // namespace dedupfs
