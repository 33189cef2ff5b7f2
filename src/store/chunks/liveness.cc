#include "store/chunks/liveness.h"

#include <utility>

#include "base/check.h"

namespace dedupfs {

Liveness::Lookup::Lookup(Liveness& liveness) : liveness_(liveness) {
  const MutexLock turn(liveness.turnstile_);
  liveness.mutex_.lock_shared();
}

Liveness::Lookup::~Lookup() {
  liveness_.mutex_.unlock_shared();
}

bool Liveness::Lookup::claim(ChunkId id) {
  liveness_.mutex_.assert_held_shared();  // by the constructor
  switch (liveness_.phase_) {
    case Phase::kIdle: return true;
    case Phase::kErasing: return liveness_.is_live(id);
    case Phase::kMarking: break;
  }
  note_stored(id);
  return true;
}

void Liveness::Lookup::note_stored(ChunkId id) {
  liveness_.mutex_.assert_held_shared();  // by the constructor
  if (liveness_.phase_ == Phase::kIdle || liveness_.is_live(id)) return;
  if (liveness_.phase_ != Phase::kMarking) {
    liveness_.set(id);
    return;
  }
  // First: without memory for it, who tries again would find the mark, and nobody would mark what the chunk is made from.
  const MutexLock lock(liveness_.claimed_mutex_);
  liveness_.claimed_.push_back(id);
  if (!liveness_.set(id)) liveness_.claimed_.pop_back();
}

void Liveness::start_marking(std::uint64_t end, std::uint64_t max_bytes) {
  const MutexLock turn(turnstile_);
  const WriterLock lock(mutex_);
  DEDUPFS_CHECK(phase_ == Phase::kIdle);  // one reclaim at a time
  phase_ = Phase::kMarking;
  end_ = end;
  marked_.emplace(max_bytes, end);
  const MutexLock claimed_lock(claimed_mutex_);
  claimed_.clear();
}

bool Liveness::mark(ChunkId id) {
  return set(id);
}

std::vector<ChunkId> Liveness::take_claimed() {
  const MutexLock lock(claimed_mutex_);
  return std::exchange(claimed_, {});
}

bool Liveness::start_erasing() {
  const MutexLock turn(turnstile_);
  const WriterLock lock(mutex_);
  DEDUPFS_CHECK(phase_ == Phase::kMarking);  // one reclaim at a time
  {
    const MutexLock claimed_lock(claimed_mutex_);
    if (!claimed_.empty()) return false;
  }
  phase_ = Phase::kErasing;
  return true;
}

void Liveness::finish(const std::function<void()>& forget) {
  const MutexLock turn(turnstile_);
  const WriterLock lock(mutex_);
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
  const ReaderLock lock(mutex_);
  return phase_ == Phase::kErasing;
}

bool Liveness::set(ChunkId id) {
  return number_of(id) < end_ && marked_->insert_beside_others(id);
}

}  // namespace dedupfs
