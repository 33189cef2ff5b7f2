// What a tree with a quota uses, and its limits.
//
// Two sums are kept. The *charged* one is checked against the limit. It counts data from the moment in which they are written, also if
// they wait in memory. The *recorded* one is the sum of the records of all inodes of the tree. It is committed with them, so it is exact
// after a crash.
//
// Stored bytes cannot be summed up, because files share chunks. They are measured now and then (fs/quotas). What is written after
// that counts as if nothing of it were deduplicated or compressed, until the next measurement.
//
// Threads: every function from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/mutex.h"
#include "base/result.h"
#include "fs/format/quota_records.h"
#include "fs/format/types.h"
#include "fs/transactions/lock_order.h"

namespace dedupfs {

struct QuotaStatus {
  InodeNumber directory = 0;
  QuotaLimits limits;
  std::uint64_t logical_bytes = 0;  // as charged
  std::uint64_t files = 0;
  std::uint64_t stored_bytes = 0;      // at the last measurement
  std::uint64_t unmeasured_bytes = 0;  // written since

  bool operator==(const QuotaStatus&) const = default;
};

class QuotaAccount {
 public:
  QuotaAccount(QuotaNumber number, const QuotaRecord& record);

  QuotaNumber number() const { return number_; }
  InodeNumber directory() const { return directory_; }
  // A removed account counts nothing, and its number stands for no quota.
  bool is_removed() const { return removed_; }
  void remove() { removed_ = true; }

  QuotaStatus status() const;
  QuotaRecord record() const;  // for the end of a transaction group
  void set_limits(const QuotaLimits& limits);

  // What an operation adds: data of files, and bytes that may have to be stored for them.
  struct Addition {
    std::uint64_t logical_bytes = 0;
    std::uint64_t written_bytes = 0;
  };
  bool has_room_for(const Addition& addition) const;
  bool has_room_for_a_file() const;
  // kQuotaExceeded if it does not fit.
  Result<void> check_room(const Addition& addition) const;
  // The same; it charges it otherwise.
  Result<void> charge(const Addition& addition);
  // Replaces a charge by another. This never fails.
  void change_charge(std::uint64_t from, std::uint64_t to);
  // A record of an inode of the tree changes.
  void change_record(std::uint64_t from, std::uint64_t to);
  // kQuotaExceeded if the tree has as many inodes as it may have.
  Result<void> add_file();
  // For what is in the tree already: no limit holds.
  void add_present_file();
  void drop_file();
  // What many records gain and lose at once, as in a rollback.
  struct RecordedChange {
    std::uint64_t added_bytes = 0;
    std::uint64_t dropped_bytes = 0;
    std::uint64_t added_files = 0;
    std::uint64_t dropped_files = 0;
  };
  // Nothing may be charged that is not recorded.
  void change_recorded(const RecordedChange& change);

  // True if stored bytes seem to leave no room, and so much has changed since the last measurement that another one is worth it.
  bool needs_measurement(std::uint64_t written_bytes) const;
  struct Measurement {
    std::uint64_t unmeasured_bytes = 0;
    std::uint64_t changed_bytes = 0;
  };
  // Everything that is committed after begin_measurement() is measured.
  Measurement begin_measurement() const;
  // Without a number it has failed. Either way, another one is worth it only after further changes.
  void end_measurement(const Measurement& begun, std::optional<std::uint64_t> stored_bytes);
  // The last measurement does not hold any more. Until the next one, all data of the tree count as if nothing of them were
  // deduplicated or compressed. The first write that finds no room then measures.
  void unmeasure();

 private:
  void forget_measurement() DEDUPFS_REQUIRES(mutex_);
  bool has_logical_room(std::uint64_t bytes) const DEDUPFS_REQUIRES(mutex_);
  bool has_stored_room(std::uint64_t bytes) const DEDUPFS_REQUIRES(mutex_);
  void note_changed(std::uint64_t bytes) DEDUPFS_REQUIRES(mutex_);
  bool has_room_for_file() const DEDUPFS_REQUIRES(mutex_);

  const QuotaNumber number_;
  const InodeNumber directory_;
  std::atomic<bool> removed_{false};
  mutable Mutex mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::leaves);
  QuotaRecord record_ DEDUPFS_GUARDED_BY(mutex_);
  std::uint64_t charged_bytes_ DEDUPFS_GUARDED_BY(mutex_);
  // Written and deleted since the last measurement. Those of earlier mounts are not known.
  std::uint64_t changed_bytes_ DEDUPFS_GUARDED_BY(mutex_) = kMaxQuotaLimit;
};

}  // namespace dedupfs
