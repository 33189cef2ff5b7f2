// An open RocksDB, shared by database*.cc: database_open.cc opens it, database_write.cc writes, database.cc reads.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/backing.h"
#include "base/mutex.h"
#include "base/result.h"
#include "index/database_options.h"
#include "index/database_watch.h"
#include "index/family.h"

namespace dedupfs {

inline rocksdb::Slice slice_of(std::string_view text) {
  return {text.data(), text.size()};
}

// In some places RocksDB allocates as much as its input says, and throws.
template <class Call>
rocksdb::Status without_exceptions(const Call& call) {
  try {
    return call();
  } catch (const std::exception& failure) {
    return rocksdb::Status::MemoryLimit(failure.what());
  }
}

// Sets the log level of RocksDB while this object exists.
class LogLevel {
 public:
  LogLevel(rocksdb::Logger& log, rocksdb::InfoLogLevel level) : log_(log), before_(log.GetInfoLogLevel()) {
    log_.SetInfoLogLevel(level);
  }
  LogLevel(const LogLevel&) = delete;
  LogLevel& operator=(const LogLevel&) = delete;
  ~LogLevel() { log_.SetInfoLogLevel(before_); }

 private:
  rocksdb::Logger& log_;
  const rocksdb::InfoLogLevel before_;
};

// May be half open, if an open failed.
struct DatabaseState {
  explicit DatabaseState(std::shared_ptr<BackingFolder> its_folder)
      : folder(std::move(its_folder)), path(folder->path().string()) {}
  DatabaseState(const DatabaseState&) = delete;
  DatabaseState& operator=(const DatabaseState&) = delete;
  ~DatabaseState();

  Result<void> create(const DatabaseOptions& options);
  Result<void> open(const DatabaseOptions& options);
  rocksdb::Status open_families(const DatabaseOptions& options, std::size_t count);
  rocksdb::Status put_mark();
  rocksdb::Status wait_for_due_flushes();
  rocksdb::Status flush();
  rocksdb::Status empty_log();
  rocksdb::Status write(rocksdb::WriteBatch& changes) DEDUPFS_REQUIRES(write_mutex);
  Result<void> check_room_to_flush() const DEDUPFS_REQUIRES(write_mutex);
  Result<void> resume() DEDUPFS_REQUIRES(write_mutex);
  Result<void> refuse_damaged_log() const;

  Error error_of(const rocksdb::Status& status) const;
  Result<void> result_of(const rocksdb::Status& status) const;
  rocksdb::ColumnFamilyHandle* handle(Family family) const { return handles[static_cast<std::size_t>(family)]; }
  rocksdb::ColumnFamilyHandle* unused_family() const { return handles.back(); }

  const std::shared_ptr<BackingFolder> folder;
  const std::string path;             // the name of the folder for RocksDB and in messages
  std::shared_ptr<rocksdb::Env> env;  // RocksDB only points to it
  bool read_only = false;
  std::chrono::milliseconds patience{};
  std::shared_ptr<LostAppends> lost_appends;
  std::shared_ptr<rocksdb::Cache> memory;
  std::shared_ptr<FeatureFilter> feature_filter;
  std::unique_ptr<rocksdb::DB> db;
  // In order of Family, then RocksDB's default family, which holds no data of ours. Null: an old volume that is open
  // read-only lacks the family.
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  std::unique_ptr<DatabaseWatch> watch;  // unless it is only read

  Mutex write_mutex;
  std::uint64_t log_bytes DEDUPFS_GUARDED_BY(write_mutex) = 0;  // approximate size of a replay after a crash now
  bool is_stopped DEDUPFS_GUARDED_BY(write_mutex) = false;      // by a failure
};

}  // namespace dedupfs
