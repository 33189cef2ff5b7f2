// The RocksDB database of a volume, VOLUME/index: column families, atomic durable batches, bounded reads. RocksDB
// itself stays behind this interface; how it is configured is in database_options.cc.
//
// Threads:   every function from any thread.
// Ownership: snapshots and batches must not outlive the database that they were made from.
// Failure:   RocksDB's status becomes kCorruption, kNoSpace, kNoMemory, kBusy or kIo, with its message and the path
//            of the index. After a full disk, the first write() that finds space again succeeds. Any other failed write or
//            sync of the log is final, since the durable state is unknown: every later write() fails, and reads go on.
//            Opening the database again recovers the durable state.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/backing.h"
#include "base/result.h"
#include "index/family.h"

namespace dedupfs {

using KeyValue = std::pair<std::string, std::string>;

struct DatabaseState;  // database_state.h

class Database {
 public:
  struct Settings {
    // Cap of block cache and write buffers together, at least kMinMemoryBytes. Only a single batch of more than a quarter of
    // the cap exceeds it, until that batch is flushed.
    std::uint64_t memory_bytes = 256 << 20;
    bool read_only = false;  // nothing is written, not even a log file; works on a read-only disk
    // With read_only: opens a database with missing tables or a damaged log. Reads that need a missing part fail. The log is
    // replayed up to its first damage if that gives a state that existed, else past the damage.
    bool damaged = false;
    // A call that waits so long while RocksDB does nothing fails (kIo), and all that follow: database_watch.h.
    std::chrono::milliseconds patience = std::chrono::minutes(5);
  };
  static constexpr std::uint64_t kMinMemoryBytes = 8 << 20;

  // An empty database with all families, in an empty folder (kExists if it holds a database).
  static Result<void> create(const std::shared_ptr<BackingFolder>& folder);
  // kNotFound if there is no database in the folder. Every write() that returned before a crash is there.
  static Result<std::unique_ptr<Database>> open(const std::shared_ptr<BackingFolder>& folder, const Settings& settings);
  ~Database();

  Result<std::optional<std::string>> get(Family family, std::string_view key) const;
  // The entry with the greatest key that is < `key` (<= `key`) and >= `from`, if any. The bounds keep a search from
  // walking over tombstones beyond them.
  Result<std::optional<KeyValue>> find_before(Family family, std::string_view key, std::string_view from = {}) const;
  Result<std::optional<KeyValue>> find_at_or_before(Family family, std::string_view key,
                                                    std::string_view from = {}) const;
  // Up to `limit` entries with from <= key < end, in order of key (end empty: to the end of the family).
  Result<std::vector<KeyValue>> list(Family family, std::string_view from, std::string_view end,
                                     std::size_t limit) const;

  // An atomic set of changes. The last change of a key wins. One thread at a time.
  class Batch {
   public:
    explicit Batch(const Database& database);
    ~Batch();
    Batch(Batch&&) noexcept;
    Batch& operator=(Batch&&) noexcept;

    void put(Family family, std::string_view key, std::string_view value);
    void erase(Family family, std::string_view key);
    bool empty() const;
    std::size_t size_bytes() const;

   private:
    friend class Database;
    struct State;
    std::unique_ptr<State> state_;
  };
  // Writes all of the batch or nothing. It is durable (synced write-ahead log) when this returns. A failed batch may be written again.
  // kReadOnly on a database that is open read-only.
  Result<void> write(const Batch& batch);

  // A consistent view of everything committed, for long walks (statistics, fsck, reclaim).
  class Snapshot;
  std::shared_ptr<const Snapshot> snapshot() const;
  // Calls visit(key, value) for all of a family in order of key, until it returns false. Verifies checksums, does not
  // fill the cache.
  Result<void> walk(const Snapshot& snapshot, Family family,
                    const std::function<bool(std::string_view key, std::string_view value)>& visit) const;
  // The same from the first key that is not below `from`.
  Result<void> walk_from(const Snapshot& snapshot, Family family, std::string_view from,
                         const std::function<bool(std::string_view key, std::string_view value)>& visit) const;

  // The same entries one by one, for those who go through two families side by side. It must not outlive the database and the
  // snapshot. One thread at a time.
  class Cursor {
   public:
    Cursor(const Database& database, const Snapshot& snapshot, Family family, std::string_view from);
    ~Cursor();
    Cursor(Cursor&&) noexcept;
    Cursor& operator=(Cursor&&) noexcept;

    bool has_entry() const;        // false: it is at the end, or could not read on: status() says which
    std::string_view key() const;  // valid until next(), as the value is
    std::string_view value() const;
    void next();
    Result<void> status() const;

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

  // Reads every table and compares all checksums, those of filters and indexes too.
  Result<void> verify_tables() const;
  struct Table {
    std::string name;
    std::string first_key, last_key;  // its records lie between these, both included
    std::uint64_t last_change = 0;
  };
  // Those that the manifest of the database in the folder names. Tables that are missing or damaged are no failure.
  static Result<std::vector<Table>> tables(const std::shared_ptr<BackingFolder>& folder);

  // The share of tombstones among the entries of a family: 0 to 1.
  Result<double> tombstone_share(Family family) const;
  // Compacts a family, which frees the space of its tombstones. Others use the database meanwhile. Calls `check_cancelled` now and
  // then: an Error of it ends the work, and is returned.
  Result<void> compact(
      Family family, const std::function<Result<void>()>& check_cancelled = [] { return Result<void>(); });

  // Writes the content of the log into tables, and frees the log. kNoSpace if there is no room for the tables.
  Result<void> empty_log();

  // Entries of kFeatureIndex whose value, a varint, is less are dropped when RocksDB next compacts them.
  void forget_features_before(std::uint64_t oldest_chunk);

  // About how many entries a family has.
  std::uint64_t estimated_entries(Family family) const;

  // Size on disk, by family, of the tables. Later writes are in the log, which all families share.
  std::array<std::uint64_t, kFamilyCount> table_bytes() const;
  // The names of the files of its tables.
  std::vector<std::string> table_names(Family family) const;
  std::uint64_t memory_used_bytes() const;  // the memory that Settings::memory_bytes caps

  // Look-ups of absent keys are fast while all filters are in memory. Otherwise many of them read the disk.
  struct FilterMemory {
    std::uint64_t filter_bytes = 0;  // about
    std::uint64_t memory_bytes = 0;  // Settings::memory_bytes
    std::uint64_t wanted_bytes = 0;  // the recommended value, with room to grow; 0: memory_bytes is enough
  };
  FilterMemory filter_memory() const;
  static FilterMemory filter_memory_of(std::uint64_t keys, std::uint64_t memory_bytes);

 private:
  friend class KeptFiles;
  explicit Database(std::unique_ptr<DatabaseState> state);
  std::unique_ptr<DatabaseState> state_;
};

}  // namespace dedupfs
