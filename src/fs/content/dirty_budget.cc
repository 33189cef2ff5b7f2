#include "fs/content/dirty_budget.h"

#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"

namespace dedupfs {
namespace {

constexpr std::chrono::milliseconds kCancelledAskedEvery{50};

}  // namespace

DirtyBudget::DirtyBudget(std::uint64_t cap_bytes, std::function<void()> on_pressure)
    : cap_bytes_(cap_bytes), on_pressure_(std::move(on_pressure)) {}

Result<void> DirtyBudget::acquire(std::uint64_t bytes, const std::function<bool()>& cancelled) {
  bool more_than_half = false;
  {
    const MutexLock lock(mutex_);
    if (!fits(bytes)) {
      const auto began = MeterClock::now();
      const Result<void> has_room = await_room(bytes, cancelled);
      waits_.add(bytes, MeterClock::now() - began);
      DEDUPFS_TRY(has_room);
    }
    used_bytes_ += bytes;
    more_than_half = used_bytes_ > cap_bytes_ / 2;
  }
  if (more_than_half) on_pressure_();
  return {};
}

Result<void> DirtyBudget::await_room(std::uint64_t bytes, const std::function<bool()>& cancelled) {
  while (!fits(bytes)) {
    {
      const MutexUnlock unlocked(mutex_);
      on_pressure_();
      if (cancelled()) return Error{ErrorCode::kInterrupted, "waiting for memory for unstored data was given up"};
    }
    released_.wait_for(mutex_, kCancelledAskedEvery, [&]() DEDUPFS_REQUIRES(mutex_) { return fits(bytes); });
  }
  return {};
}

void DirtyBudget::force(std::uint64_t bytes) noexcept {
  const MutexLock lock(mutex_);
  used_bytes_ += bytes;
}

void DirtyBudget::release(std::uint64_t bytes) noexcept {
  {
    const MutexLock lock(mutex_);
    DEDUPFS_CHECK(bytes <= used_bytes_);  // our own count of memory; no number from the disk goes into it
    used_bytes_ -= bytes;
  }
  released_.notify_all();
}

std::uint64_t DirtyBudget::used_bytes() const {
  const MutexLock lock(mutex_);
  return used_bytes_;
}

bool DirtyBudget::fits(std::uint64_t bytes) const {
  return used_bytes_ == 0 || (used_bytes_ < cap_bytes_ && bytes <= cap_bytes_ - used_bytes_);
}

}  // namespace dedupfs
