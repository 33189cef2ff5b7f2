#include "fs/space_guard.h"

#include <algorithm>

#include "store/disk_reserve.h"

namespace dedupfs {
namespace {

constexpr std::chrono::milliseconds kTrust{100};  // asking costs a system call: not for each 4 KiB write
constexpr std::uint64_t kTrustBytes = 1 << 20;

}  // namespace

SpaceGuard::SpaceGuard(BackingFolder& folder, std::function<std::uint64_t()> pending_bytes,
                       std::function<void()> settle)
    : folder_(folder), pending_bytes_(std::move(pending_bytes)), settle_(std::move(settle)) {}

std::uint64_t SpaceGuard::room_beside(const Backing::Space& space, std::uint64_t reserve) const {
  const std::uint64_t taken = pending_bytes_() + reserve;
  return space.available_bytes > taken ? space.available_bytes - taken : 0;
}

bool SpaceGuard::fits(const Backing::Space& space, std::uint64_t bytes, std::uint64_t reserve) const {
  const std::uint64_t room = room_beside(space, reserve);
  return room > 0 && bytes <= room;
}

Result<void> SpaceGuard::admit_data(std::uint64_t bytes) {
  DEDUPFS_ASSIGN(Backing::Space space, disk_space(bytes));
  if (fits(space, bytes, reserve_of(space))) return {};
  settle_();  // duplicates and compression may have left more than the worst case
  DEDUPFS_ASSIGN(space, disk_space_now());
  if (fits(space, bytes, reserve_of(space))) return {};
  return Error{ErrorCode::kNoSpace, folder_.path().string() + ": the disk below is full"};
}

Result<void> SpaceGuard::admit_metadata() {
  DEDUPFS_ASSIGN(Backing::Space space, disk_space(0));
  if (fits(space, 0, reserve_of(space) / 2)) return {};
  settle_();
  DEDUPFS_ASSIGN(space, disk_space_now());
  if (fits(space, 0, reserve_of(space) / 2)) return {};
  return Error{ErrorCode::kNoSpace, folder_.path().string() + ": the disk below is full"};
}

Result<SpaceGuard::Room> SpaceGuard::room() {
  DEDUPFS_ASSIGN(const Backing::Space space, disk_space_now());
  return Room{space.total_bytes, room_beside(space, reserve_of(space))};
}

Result<std::uint64_t> SpaceGuard::metadata_room() {
  DEDUPFS_ASSIGN(const Backing::Space space, disk_space_now());
  return room_beside(space, reserve_of(space) / 2);
}

Result<Backing::Space> SpaceGuard::disk_space(std::uint64_t about_to_add) {
  {
    const std::lock_guard lock(mutex_);
    added_since_ += about_to_add;
    if (added_since_ <= kTrustBytes && Clock::now() < known_until_) return known_;
  }
  return disk_space_now();
}

Result<Backing::Space> SpaceGuard::disk_space_now() {
  DEDUPFS_ASSIGN(const Backing::Space space, folder_.space());
  const std::lock_guard lock(mutex_);
  known_ = space;
  known_until_ = Clock::now() + kTrust;
  added_since_ = 0;
  return space;
}

}  // namespace dedupfs
