#pragma once

#include <rocksdb/env.h>

#include <condition_variable>
#include <mutex>

namespace dedupfs {

// Keeps RocksDB from beginning a flush.
class BusyFlushThreads {
 public:
  BusyFlushThreads() {
    rocksdb::Env& env = *rocksdb::Env::Default();
    for (int i = env.GetBackgroundThreads(rocksdb::Env::HIGH); i > 0; --i) {
      ++busy_;
      env.Schedule([](void* self) { static_cast<BusyFlushThreads*>(self)->wait(); }, this, rocksdb::Env::HIGH);
    }
  }
  BusyFlushThreads(const BusyFlushThreads&) = delete;
  BusyFlushThreads& operator=(const BusyFlushThreads&) = delete;
  ~BusyFlushThreads() { end(); }

  void end() {
    std::unique_lock lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return busy_ == 0; });
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_over_; });
    --busy_;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int busy_ = 0;
  bool is_over_ = false;
};

}  // namespace dedupfs
