// Writes many records into a database that nobody else uses, in batches of bounded size.
//
// Threads: one user at a time.
// Failure: records are durable after flush() only. No group of puts is atomic.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "index/database.h"

namespace dedupfs {

class BulkWriter {
 public:
  explicit BulkWriter(Database& database) : database_(database), batch_(database) {}

  Result<void> put(Family family, std::string_view key, std::string_view value) {
    batch_.put(family, key, value);
    return batch_.size_bytes() < kBatchBytes ? Result<void>() : flush();
  }
  Result<void> erase(Family family, std::string_view key) {
    batch_.erase(family, key);
    return batch_.size_bytes() < kBatchBytes ? Result<void>() : flush();
  }
  Result<void> flush() {
    if (batch_.empty()) return {};
    DEDUPFS_TRY(database_.write(batch_));
    batch_ = Database::Batch(database_);
    return {};
  }

 private:
  static constexpr std::size_t kBatchBytes = 4 << 20;

  Database& database_;
  Database::Batch batch_;
};

}  // namespace dedupfs
