// What Transactions asks of those who hold changes that no transaction group has yet: data that wait in memory, and records
// that are put at the end of a group only.
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
  virtual std::uint64_t waiting_bytes() const = 0;  // in memory, and will need room on the disk

  // Brings as much as it can into the open group. What it cannot stays as it is.
  virtual void store() = 0;
  // The first error of the last store().
  virtual std::optional<Error> store_error() const = 0;

  // The end of a group, while no operation is half done. Nothing is stored in the background as long as the thread keeps the token.
  struct StoreAgain {
    // No analysis: the token has had the lock since stop_storing().
    void operator()(SharedMutex* storing) const DEDUPFS_NO_THREAD_SAFETY_ANALYSIS { storing->unlock(); }
  };
  using Stopped = std::unique_ptr<SharedMutex, StoreAgain>;
  [[nodiscard]] virtual Stopped stop_storing() = 0;
  // After store(): the records become what was stored.
  virtual void put_records() = 0;
  // The last thing that a group takes in. `is_last`: no other group follows.
  virtual void put_counters(bool is_last) = 0;
};

}  // namespace dedupfs
