// Simulates a cache of a given size whose least recently used entries go first. It knows which entries are in the cache, but does
// not hold them.
//
// Threads: one user at a time.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <utility>

namespace dedupfs {

template <class Key>
class RecentlyUsed {
 public:
  explicit RecentlyUsed(std::uint64_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}

  // Whether it was there; it is the last to go now.
  bool use(const Key& key, std::uint64_t bytes) {
    if (const auto found = places_.find(key); found != places_.end()) {
      keys_.splice(keys_.begin(), keys_, found->second);
      return true;
    }
    keys_.emplace_front(key, bytes);
    places_.emplace(key, keys_.begin());
    for (bytes_ += bytes; bytes_ > capacity_bytes_ && keys_.size() > 1; keys_.pop_back()) {
      bytes_ -= keys_.back().second;
      places_.erase(keys_.back().first);
    }
    return false;
  }

 private:
  using Keys = std::list<std::pair<Key, std::uint64_t>>;

  const std::uint64_t capacity_bytes_;
  std::uint64_t bytes_ = 0;
  Keys keys_;  // used last first
  std::unordered_map<Key, typename Keys::iterator> places_;
};

}  // namespace dedupfs
