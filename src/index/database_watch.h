// Ends a wait inside RocksDB that would never end.
//
// RocksDB 7 to 11 forgets a flush if something else fails just when the flush is about to begin (facebook/rocksdb#15030). Resume(),
// Flush(), and a write that finds the memory full then wait for ever. DatabaseState::write() keeps flushes and failures apart.
// This class handles the other cases, such as a compaction that fails at that moment.
//
// Thread-safe. Has a thread, which sleeps while no call is watched.
#pragma once

#include <rocksdb/db.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "base/mutex.h"

namespace dedupfs {

class DatabaseWatch {
 public:
  // Calls may wait for `patience` while RocksDB does nothing in the background. Then the watch makes RocksDB refuse all writes, for
  // good, and all calls return. `db` must outlive the watch.
  DatabaseWatch(rocksdb::DB& db, std::string path, std::chrono::milliseconds patience);
  DatabaseWatch(const DatabaseWatch&) = delete;
  DatabaseWatch& operator=(const DatabaseWatch&) = delete;
  ~DatabaseWatch();

  // Returns the result of `call`, or an IOError if the watch ended its wait.
  template <class Call>
  rocksdb::Status watch(const Call& call) {
    const Watched watched(*this);
    const rocksdb::Status status = call();
    return has_given_up_ ? gave_up() : status;
  }

 private:
  class Watched {
   public:
    explicit Watched(DatabaseWatch& watch);
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;
    ~Watched();

   private:
    DatabaseWatch& watch_;
  };

  void run();
  bool is_busy() const;
  static rocksdb::Status gave_up();

  rocksdb::DB& db_;
  const std::string path_;
  const std::chrono::milliseconds patience_;
  std::atomic<bool> has_given_up_ = false;
  Mutex mutex_;
  ConditionVariable changed_;
  int calls_ DEDUPFS_GUARDED_BY(mutex_) = 0;               // under way
  std::uint64_t finished_ DEDUPFS_GUARDED_BY(mutex_) = 0;  // calls
  bool is_stopping_ DEDUPFS_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace dedupfs
