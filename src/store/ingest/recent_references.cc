#include "store/ingest/recent_references.h"

#include <utility>

namespace dedupfs {

void RecentReferences::start() {
  started_ = true;
}

void RecentReferences::note(const Window& some) {
  if (!started_) return;
  const MutexLock lock(mutex_);
  open_.ids.insert(open_.ids.end(), some.ids.begin(), some.ids.end());
  open_.bytes += some.bytes;
  open_.new_bytes += some.new_bytes;
  if (open_.bytes < kWindowBytes && open_.ids.size() < kMaxReferences) return;
  full_.push_back(std::exchange(open_, {}));
  if (full_.size() > kMaxWindows) full_.pop_front();
  changed_.notify_one();
}

std::optional<RecentReferences::Window> RecentReferences::wait_for_window() {
  const MutexLock lock(mutex_);
  changed_.wait(mutex_, [this]() DEDUPFS_REQUIRES(mutex_) { return ended_ || !full_.empty(); });
  return ended_ ? std::nullopt : take_full();
}

void RecentReferences::end() {
  const MutexLock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

std::optional<RecentReferences::Window> RecentReferences::take() {
  const MutexLock lock(mutex_);
  if (!full_.empty()) return take_full();
  if (open_.ids.empty()) return std::nullopt;
  return std::exchange(open_, {});
}

std::optional<RecentReferences::Window> RecentReferences::take_full() {
  Window window = std::move(full_.front());
  full_.pop_front();
  return window;
}

}  // namespace dedupfs
