#include "fs/transactions/data_limit.h"

#include <algorithm>
#include <thread>

namespace dedupfs {
namespace {

constexpr std::chrono::milliseconds kTrustOfRoom{
    1000};  // while there is room: what is written meanwhile counts as if it took all its bytes
constexpr std::chrono::milliseconds kTrustOfFull{50};  // many may wait at once
constexpr std::chrono::milliseconds kWaitersLookEvery{50};

}  // namespace

Result<void> DataLimit::admit(std::uint64_t bytes, const std::function<bool()>& cancelled) {
  if (fits_what_is_known(bytes) || fits_now(bytes, {})) return {};
  settle_();  // with duplicates and compression, more may be left than in the worst case
  if (fits_now(bytes, {})) return {};
  keeper_.want_room();
  if (is_hopeless() || !begin_waiting()) return keeper_.refuse();
  auto waited = await_room(bytes, cancelled);
  end_waiting();
  return waited;
}

Result<void> DataLimit::await_room(std::uint64_t bytes, const std::function<bool()>& cancelled) {
  while (!fits_now(bytes, kTrustOfFull)) {
    if (is_hopeless()) return keeper_.refuse();
    if (cancelled != nullptr && cancelled())
      return Error{ErrorCode::kInterrupted, "waiting until there is room for new data was given up"};
    keeper_.want_room();
    std::this_thread::sleep_for(kWaitersLookEvery);
  }
  return {};
}

bool DataLimit::begin_waiting() {
  {
    const MutexLock lock(mutex_);
    if (waiting_ >= keeper_.most_waiting) return false;
    ++waiting_;
  }
  keeper_.when_waiting(true);
  return true;
}

void DataLimit::end_waiting() {
  {
    const MutexLock lock(mutex_);
    --waiting_;
  }
  keeper_.when_waiting(false);
}

std::size_t DataLimit::waiting() {
  const MutexLock lock(mutex_);
  return waiting_;
}

bool DataLimit::is_hopeless() {
  const MutexLock lock(mutex_);
  return hopeless_since_ && Clock::now() >= *hopeless_since_ + keeper_.longest_wait;
}

bool DataLimit::fits(std::uint64_t bytes, std::uint64_t pending_bytes) {
  const std::uint64_t taken = std::max(known_pending_ + added_since_, pending_bytes);
  if (taken + bytes > known_.room_bytes) return false;
  added_since_ += bytes;
  return true;
}

bool DataLimit::fits_what_is_known(std::uint64_t bytes) {
  const std::uint64_t pending = pending_bytes_();
  const MutexLock lock(mutex_);
  return Clock::now() < looked_at_ + kTrustOfRoom && fits(bytes, pending);
}

// What is stored between the two questions counts twice, which is better than never.
bool DataLimit::fits_now(std::uint64_t bytes, std::chrono::milliseconds trust) {
  const std::uint64_t pending = pending_bytes_();
  {
    const MutexLock lock(mutex_);
    if (Clock::now() < looked_at_ + trust) return fits(bytes, pending);
  }
  const Seen seen = keeper_.look();
  const MutexLock lock(mutex_);
  known_ = seen;
  known_pending_ = pending;
  added_since_ = 0;
  looked_at_ = Clock::now();
  const bool has_room = fits(bytes, pending);
  if (has_room || seen.is_making_room)
    hopeless_since_.reset();
  else if (!hopeless_since_)
    hopeless_since_ = looked_at_;
  return has_room;
}

}  // namespace dedupfs
