#include "fs/content/dirty_budget.h"

#include <chrono>
#include <utility>

#include "base/check.h"

namespace dedupfs {
namespace {

constexpr std::chrono::milliseconds kCancelledAskedEvery{50};

}  // namespace

DirtyBudget::DirtyBudget(std::uint64_t cap_bytes, std::function<void()> on_pressure)
    : cap_bytes_(cap_bytes), on_pressure_(std::move(on_pressure)) {}

Result<void> DirtyBudget::acquire(std::uint64_t bytes, const std::function<bool()>& cancelled) {
  std::unique_lock lock(mutex_);
  while (!fits(bytes)) {
    lock.unlock();
    on_pressure_();
    if (cancelled()) return Error{ErrorCode::kInterrupted, "waiting for memory for unstored data was given up"};
    lock.lock();
    released_.wait_for(lock, kCancelledAskedEvery, [&] { return fits(bytes); });
  }
  used_bytes_ += bytes;
  const bool more_than_half = used_bytes_ > cap_bytes_ / 2;
  lock.unlock();
  if (more_than_half) on_pressure_();
  return {};
}

void DirtyBudget::force(std::uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  used_bytes_ += bytes;
}

void DirtyBudget::release(std::uint64_t bytes) noexcept {
  {
    const std::lock_guard lock(mutex_);
    DEDUPFS_CHECK(bytes <= used_bytes_);  // bytes in memory: the disk says nothing of them
    used_bytes_ -= bytes;
  }
  released_.notify_all();
}

std::uint64_t DirtyBudget::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_;
}

bool DirtyBudget::fits(std::uint64_t bytes) const {
  return used_bytes_ == 0 || (used_bytes_ < cap_bytes_ && bytes <= cap_bytes_ - used_bytes_);
}

}  // namespace dedupfs
