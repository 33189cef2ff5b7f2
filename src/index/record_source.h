// The records of an index, from any source: the live index, a damaged one, records that were salvaged from its tables, a
// checkpoint.
//
// Threads: one user at a time.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "index/database.h"

namespace dedupfs {

class RecordSource {
 public:
  using Visit = std::function<bool(std::string_view key, std::string_view value)>;

  virtual ~RecordSource() = default;
  // Calls visit(key, value) for all records of a family that can be read, in order of key, until it returns false.
  virtual Result<void> walk(Family family, const Visit& visit) const = 0;
};

// Those of a database that is sound, as of now.
class DatabaseRecords final : public RecordSource {
 public:
  explicit DatabaseRecords(const Database& database) : database_(database) {}

  Result<void> walk(Family family, const Visit& visit) const override {
    return database_.walk(*database_.snapshot(), family, visit);
  }

 private:
  const Database& database_;
};

}  // namespace dedupfs
