// The namespace's key-value pairs, with the changes since the last commit as an overlay: the open transaction group, and,
// while a commit runs, the frozen one below it. Everybody reads their own writes.
//
// Threads: every function from any thread. That a group is a consistent state is the business of whoever calls freeze():
//          no operation may be half done then.
// Failure: reads fail as the database does; writes go to memory and cannot fail.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/database.h"

namespace dedupfs {

class Metadata {
 public:
  explicit Metadata(Database& database);
  ~Metadata();

  Result<std::optional<std::string>> get(Family family, std::string_view key) const;
  // Up to `limit` entries with from <= key < end, in order of key (end empty: to the end of the family).
  Result<std::vector<KeyValue>> list(Family family, std::string_view from, std::string_view end, std::size_t limit) const;
  // The entry with the greatest key that is <= `key` and >= `from`, if any.
  Result<std::optional<KeyValue>> find_at_or_before(Family family, std::string_view key, std::string_view from) const;

  void put(Family family, std::string_view key, std::string value);
  void erase(Family family, std::string_view key);

  // About how much memory the open group takes: the signal for an early commit.
  std::size_t open_bytes() const;
  bool open_is_empty() const;

  // The open group becomes the frozen one, and a new, empty one opens. There must be no frozen group.
  void freeze();
  bool has_frozen() const;
  void append_frozen_to(Database::Batch& batch) const;
  // After the batch was written.
  void drop_frozen();

 private:
  struct Overlay;
  Database& database_;
  mutable std::shared_mutex mutex_;
  std::unique_ptr<Overlay> open_;
  std::unique_ptr<Overlay> frozen_;
};

}  // namespace dedupfs
