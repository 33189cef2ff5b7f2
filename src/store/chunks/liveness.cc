#include "store/chunks/liveness.h"

#include <utility>

#include "base/check.h"

namespace dedupfs {

std::shared_lock<std::shared_mutex> Liveness::lock_phase() {
  const std::lock_guard turn(turnstile_);
  return std::shared_lock(mutex_);
}

Liveness::Lookup::Lookup(Liveness& liveness) : liveness_(liveness), lock_(liveness.lock_phase()) {}

bool Liveness::Lookup::claim(ChunkId id) {
  switch (liveness_.phase_) {
    case Phase::kIdle: return true;
    case Phase::kErasing: return liveness_.is_live(id);
    case Phase::kMarking: break;
  }
  note_stored(id);
  return true;
}

void Liveness::Lookup::note_stored(ChunkId id) {
  if (liveness_.phase_ == Phase::kIdle || !liveness_.set(id) || liveness_.phase_ != Phase::kMarking) return;
  const std::lock_guard lock(liveness_.claimed_mutex_);
  liveness_.claimed_.push_back(id);
}

void Liveness::start_marking(std::uint64_t end, std::uint64_t max_bytes) {
  const std::lock_guard turn(turnstile_);
  const std::unique_lock lock(mutex_);
  DEDUPFS_CHECK(phase_ == Phase::kIdle);  // one reclaim at a time
  phase_ = Phase::kMarking;
  end_ = end;
  marked_.emplace(max_bytes, end);
  claimed_.clear();
}

bool Liveness::mark(ChunkId id) {
  return set(id);
}

std::vector<ChunkId> Liveness::take_claimed() {
  const std::lock_guard lock(claimed_mutex_);
  return std::exchange(claimed_, {});
}

bool Liveness::start_erasing() {
  const std::lock_guard turn(turnstile_);
  const std::unique_lock lock(mutex_);
  DEDUPFS_CHECK(phase_ == Phase::kMarking);  // one reclaim at a time
  if (!claimed_.empty()) return false;
  phase_ = Phase::kErasing;
  return true;
}

void Liveness::finish(const std::function<void()>& forget) {
  const std::lock_guard turn(turnstile_);
  const std::unique_lock lock(mutex_);
  if (phase_ == Phase::kIdle) return;
  forget();
  phase_ = Phase::kIdle;
  marked_.reset();
}

bool Liveness::is_live(ChunkId id) const {
  return number_of(id) >= end_ || marked_->contains(id) || !marked_->is_complete();
}

Result<void> Liveness::require_complete() const {
  return marked_->require_complete();
}

bool Liveness::is_erasing() const {
  const std::shared_lock lock(mutex_);
  return phase_ == Phase::kErasing;
}

bool Liveness::set(ChunkId id) {
  return number_of(id) < end_ && marked_->insert_beside_others(id);
}

}  // namespace dedupfs
