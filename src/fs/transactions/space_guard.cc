#include "fs/transactions/space_guard.h"

#include <algorithm>

#include "base/mutex.h"
#include "store/volume/disk_reserve.h"

namespace dedupfs {
namespace {

constexpr std::chrono::milliseconds kTrust{100};  // an answer costs a system call: too much for each 4 KiB write
constexpr std::uint64_t kTrustBytes = 1 << 20;

}  // namespace

SpaceGuard::SpaceGuard(BackingFolder& folder, std::function<std::uint64_t()> pending_bytes,
                       std::function<void()> settle)
    : folder_(folder), pending_bytes_(std::move(pending_bytes)), settle_(std::move(settle)) {}

std::uint64_t SpaceGuard::Seen::room_beside(std::uint64_t reserve) const {
  const std::uint64_t taken = pending_bytes + reserve;
  return space.available_bytes > taken ? space.available_bytes - taken : 0;
}

bool SpaceGuard::Seen::fits(std::uint64_t bytes, std::uint64_t reserve) const {
  const std::uint64_t room = room_beside(reserve);
  return room > 0 && bytes <= room;
}

Result<void> SpaceGuard::admit_data(std::uint64_t bytes) {
  return admit(bytes, [](const Backing::Space& space) { return reserve_of(space); });
}

Result<void> SpaceGuard::admit_write(std::uint64_t bytes, const std::function<bool()>& cancelled) {
  DEDUPFS_TRY(admit_data(bytes));
  return limit_ ? limit_->admit(bytes, cancelled) : Result<void>();
}

Result<void> SpaceGuard::admit_metadata() {
  return admit(0, [](const Backing::Space& space) { return reserve_of(space) / 2; });
}

Result<void> SpaceGuard::admit(std::uint64_t bytes, std::uint64_t (*reserve)(const Backing::Space&)) {
  DEDUPFS_ASSIGN(Seen seen, look_now_and_then(bytes));
  if (seen.fits(bytes, reserve(seen.space))) return {};
  settle_();  // with duplicates and compression, more may be left than in the worst case
  DEDUPFS_ASSIGN(seen, look(bytes));
  if (seen.fits(bytes, reserve(seen.space))) return {};
  return Error{ErrorCode::kNoSpace, folder_.path().string() + ": the disk below is full"};
}

Result<SpaceGuard::Room> SpaceGuard::room() {
  DEDUPFS_ASSIGN(const Seen seen, look(0));
  return Room{seen.space.total_bytes, seen.room_beside(reserve_of(seen.space))};
}

Result<std::uint64_t> SpaceGuard::metadata_room() {
  DEDUPFS_ASSIGN(const Seen seen, look(0));
  return seen.room_beside(reserve_of(seen.space) / 2);
}

Result<SpaceGuard::Seen> SpaceGuard::look_now_and_then(std::uint64_t about_to_add) {
  const std::uint64_t pending_bytes = pending_bytes_();
  {
    const MutexLock lock(mutex_);
    if (added_since_ + about_to_add <= kTrustBytes && Clock::now() < known_until_) {
      Seen seen = known_;
      seen.pending_bytes = std::max(known_.pending_bytes + added_since_, pending_bytes);
      added_since_ += about_to_add;
      return seen;
    }
  }
  return look(about_to_add);
}

Result<SpaceGuard::Seen> SpaceGuard::look(std::uint64_t about_to_add) {
  Seen seen;
  seen.pending_bytes = pending_bytes_();  // first: data stored in between then count twice, which is better than never
  DEDUPFS_ASSIGN(seen.space, folder_.space());
  const MutexLock lock(mutex_);
  known_ = seen;
  known_until_ = Clock::now() + kTrust;
  added_since_ = about_to_add;
  return seen;
}

}  // namespace dedupfs
