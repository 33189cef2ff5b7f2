// The files of a database that is open, kept for who copies them while it is used on.
//
// Threads:   from any thread.
// Ownership: must not outlive the database.
// Failure:   as Database.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "index/database.h"

namespace dedupfs {

class KeptFiles {
 public:
  // The database as it is at one moment, by names in its folder.
  struct List {
    std::vector<std::string> unchanging;  // tables and options
    std::vector<std::string> logs;
    std::string manifest;
    std::uint64_t manifest_bytes = 0;  // so much of it counts
  };

  // No file is removed as long as it lives.
  static Result<std::unique_ptr<KeptFiles>> keep(Database& database);
  ~KeptFiles();
  KeptFiles(const KeptFiles&) = delete;
  KeptFiles& operator=(const KeptFiles&) = delete;

  Result<List> list() const;

 private:
  explicit KeptFiles(DatabaseState& state) : state_(state) {}

  DatabaseState& state_;
};

}  // namespace dedupfs
