// The interface between Transactions and an object that holds changes which are in no transaction group yet: data that wait in
// memory, and records that are put only at the end of a group.
//
// Threads: has_changes(), waiting_bytes() and store_error() from any thread; the rest on the thread that ends groups.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/mutex.h"
#include "base/result.h"

namespace dedupfs {

class GroupSource {
 public:
  GroupSource() = default;
  GroupSource(const GroupSource&) = delete;
  GroupSource& operator=(const GroupSource&) = delete;
  virtual ~GroupSource() = default;

  virtual bool has_changes() const = 0;
  virtual std::uint64_t waiting_bytes() const = 0;  // data in memory that will need room on the disk

  // Brings as much data as it can into the open group. The rest stays as it is.
  virtual void store() = 0;
  // The first error of the last store().
  virtual std::optional<Error> store_error() const = 0;

  // For the end of a group, when no operation is half done. Nothing is stored in the background as long as the thread keeps the
  // token.
  struct StoreAgain {
    // No analysis: the token has held the lock since stop_storing().
    void operator()(SharedMutex* storing) const DEDUPFS_NO_THREAD_SAFETY_ANALYSIS { storing->unlock(); }
  };
  using Stopped = std::unique_ptr<SharedMutex, StoreAgain>;
  [[nodiscard]] virtual Stopped stop_storing() = 0;
  // After store(): puts records that match the stored data.
  virtual void put_records() = 0;
  // Puts the counters, as the last change of a group. `is_last`: no other group follows.
  virtual void put_counters(bool is_last) = 0;
};

}  // namespace dedupfs
