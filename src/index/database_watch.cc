#include "index/database_watch.h"

#include <rocksdb/convenience.h>
#include <spdlog/spdlog.h>

#include <utility>

namespace dedupfs {

using Clock = std::chrono::steady_clock;

DatabaseWatch::Watched::Watched(DatabaseWatch& watch) : watch_(watch) {
  const MutexLock lock(watch_.mutex_);
  if (watch_.calls_++ == 0) watch_.changed_.notify_one();
}

DatabaseWatch::Watched::~Watched() {
  const MutexLock lock(watch_.mutex_);
  --watch_.calls_;
  ++watch_.finished_;
}

DatabaseWatch::DatabaseWatch(rocksdb::DB& db, std::string path, std::chrono::milliseconds patience)
    : db_(db), path_(std::move(path)), patience_(patience), thread_([this] { run(); }) {}

DatabaseWatch::~DatabaseWatch() {
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

bool DatabaseWatch::is_busy() const {
  for (const std::string& property :
       {rocksdb::DB::Properties::kNumRunningFlushes, rocksdb::DB::Properties::kNumRunningCompactions}) {
    std::uint64_t running = 0;
    if (db_.GetIntProperty(property, &running) && running != 0) return true;
  }
  return false;
}

void DatabaseWatch::run() {
  const MutexLock lock(mutex_);
  Clock::time_point idle_since;
  std::uint64_t finished = 0;
  const auto begin_anew = [&]() DEDUPFS_REQUIRES(mutex_) {
    idle_since = Clock::now();
    finished = finished_;
  };
  while (true) {
    if (calls_ == 0) {
      changed_.wait(mutex_, [&]() DEDUPFS_REQUIRES(mutex_) { return is_stopping_ || calls_ != 0; });
      begin_anew();
    }
    if (changed_.wait_for(mutex_, patience_ / 8, [&]() DEDUPFS_REQUIRES(mutex_) { return is_stopping_; })) return;
    bool is_working = false;
    {
      const MutexUnlock unlocked(mutex_);
      is_working = is_busy();  // waits for a lock that calls hold
    }
    if (is_working || finished != finished_) begin_anew();
    if (calls_ == 0 || Clock::now() - idle_since < patience_) continue;

    spdlog::error(
        "index {}: a call of RocksDB has waited {} s for work that does not run; the index takes no changes until the "
        "volume is mounted again",
        path_, std::chrono::duration_cast<std::chrono::seconds>(patience_).count());
    has_given_up_ = true;
    {
      const MutexUnlock unlocked(mutex_);
      rocksdb::CancelAllBackgroundWork(&db_, false);
    }
    changed_.wait(mutex_, [&]() DEDUPFS_REQUIRES(mutex_) { return is_stopping_; });
    return;
  }
}

rocksdb::Status DatabaseWatch::gave_up() {
  return rocksdb::Status::IOError("a call of RocksDB waited for work that did not run; mount the volume again");
}

}  // namespace dedupfs
