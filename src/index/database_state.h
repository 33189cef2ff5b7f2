// An open RocksDB, as database*.cc share it: what opens it is in database_open.cc, what writes in database_write.cc, what reads in
// database.cc.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/backing.h"
#include "base/result.h"
#include "index/database.h"
#include "index/database_options.h"
#include "index/database_watch.h"

namespace dedupfs {

inline rocksdb::Slice slice_of(std::string_view text) {
  return {text.data(), text.size()};
}

// RocksDB allocates by the word of what it reads in some places, and throws.
template <class Call>
rocksdb::Status without_exceptions(const Call& call) {
  try {
    return call();
  } catch (const std::exception& failure) {
    return rocksdb::Status::MemoryLimit(failure.what());
  }
}

// What RocksDB says for as long as it lives.
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

// Also half open, on the way to an error.
struct Database::State {
  explicit State(std::shared_ptr<BackingFolder> its_folder)
      : folder(std::move(its_folder)), path(folder->path().string()) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  Result<void> create(const DatabaseOptions& options);
  Result<void> open(const DatabaseOptions& options);
  rocksdb::Status open_families(const DatabaseOptions& options, std::size_t count);
  bool open_if_flawless(DatabaseOptions options);
  rocksdb::Status put_mark();
  rocksdb::Status wait_for_due_flushes();
  rocksdb::Status flush();
  rocksdb::Status empty_log();
  rocksdb::Status write(rocksdb::WriteBatch& changes);
  Result<void> check_room_to_flush() const;
  Result<void> resume();
  Result<std::uint64_t> changes_behind_damage() const;
  Result<void> refuse_damaged_log() const;
  Result<std::uint64_t> last_change_in_log(rocksdb::WALRecoveryMode mode) const;

  Error error_of(const rocksdb::Status& status) const;
  Result<void> result_of(const rocksdb::Status& status) const;
  rocksdb::ColumnFamilyHandle* handle(Family family) const { return handles[static_cast<std::size_t>(family)]; }
  rocksdb::ColumnFamilyHandle* unused_family() const { return handles.back(); }

  const std::shared_ptr<BackingFolder> folder;
  const std::string path;             // what RocksDB calls the folder, and for messages
  std::shared_ptr<rocksdb::Env> env;  // RocksDB only points to it
  bool read_only = false;
  std::chrono::milliseconds patience{};
  std::shared_ptr<LostAppends> lost_appends;
  std::shared_ptr<rocksdb::Cache> memory;
  std::shared_ptr<FeatureFilter> feature_filter;
  std::unique_ptr<rocksdb::DB> db;
  // In order of Family, then RocksDB's default family, which holds no data of ours. Null: an old volume that is only read has
  // no such family.
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  std::unique_ptr<DatabaseWatch> watch;  // unless it is only read

  // Of write(), and all that follow.
  std::mutex write_mutex;
  std::uint64_t log_bytes = 0;  // about what a crash now would have to replay
  bool is_stopped = false;      // by a failure
};

}  // namespace dedupfs
