#include "store/relocation/recent_references.h"

#include <utility>

namespace dedupfs {

void RecentReferences::start() {
  started_ = true;
}

void RecentReferences::note(const Stretch& some) {
  if (!started_) return;
  const std::lock_guard lock(mutex_);
  open_.ids.insert(open_.ids.end(), some.ids.begin(), some.ids.end());
  open_.bytes += some.bytes;
  open_.new_bytes += some.new_bytes;
  if (open_.bytes < kStretchBytes && open_.ids.size() < kMostReferences) return;
  full_.push_back(std::exchange(open_, {}));
  if (full_.size() > kMostStretches) full_.pop_front();
  changed_.notify_one();
}

std::optional<RecentReferences::Stretch> RecentReferences::wait_for_stretch() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || !full_.empty(); });
  return ended_ ? std::nullopt : take_full();
}

void RecentReferences::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

std::optional<RecentReferences::Stretch> RecentReferences::take() {
  const std::lock_guard lock(mutex_);
  if (!full_.empty()) return take_full();
  if (open_.ids.empty()) return std::nullopt;
  return std::exchange(open_, {});
}

std::optional<RecentReferences::Stretch> RecentReferences::take_full() {
  Stretch stretch = std::move(full_.front());
  full_.pop_front();
  return stretch;
}

}  // namespace dedupfs
