// The RocksDB database of a volume, VOLUME/index: column families, options, memory limits. The only place that includes
// RocksDB, besides those that build batches for it.
//
// Threads: every function from any thread.
// Failure: RocksDB's status becomes kCorruption, kNoSpace, kIo or kBusy with RocksDB's message.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/backing.h"
#include "base/result.h"

namespace rocksdb {
class WriteBatch;
}

namespace dedupfs {

enum class Family : std::uint8_t {
  kFingerprints,    // fingerprint -> chunk id
  kChunks,          // first chunk id of a run -> place of its region, lengths (ChunkIndex)
  kFeatures,        // super-feature -> chunk id
  kInodes,          // inode number -> attributes
  kDirents,         // parent inode + name -> inode, type, cookie
  kCookies,         // parent inode + cookie -> name, inode, type: the order of readdir
  kXattrs,          // inode + name -> value
  kRecipes,         // inode + offset of the segment -> entries
  kOrphans,         // inode number -> nothing: unlinked, to be deleted when nobody has it open
  kCounters,        // name -> next ids and the like
};
inline constexpr std::size_t kFamilyCount = 10;
std::string_view name_of(Family family);

using KeyValue = std::pair<std::string, std::string>;

class Database {
 public:
  struct Settings {
    std::uint64_t memory_bytes = 256 << 20;  // hard cap of block cache and write buffers together
    bool read_only = false;                  // nothing is written, not even a log file; works on a read-only disk
  };

  static Result<void> create(const Path& path);  // an empty database with all families
  static Result<std::unique_ptr<Database>> open(const Path& path, const Settings& settings);
  ~Database();

  Result<std::optional<std::string>> get(Family family, std::string_view key) const;
  // The entry with the greatest key <= `key`, if any.
  Result<std::optional<KeyValue>> find_at_or_before(Family family, std::string_view key) const;
  // Up to `limit` entries with from <= key < end, in order of key (end empty: to the end of the family).
  Result<std::vector<KeyValue>> list(Family family, std::string_view from, std::string_view end, std::size_t limit) const;

  // An atomic set of changes.
  class Batch {
   public:
    Batch();
    ~Batch();
    Batch(Batch&&) noexcept;
    void put(Family family, std::string_view key, std::string_view value);
    void erase(Family family, std::string_view key);
    std::size_t size_bytes() const;

   private:
    friend class Database;
    std::unique_ptr<rocksdb::WriteBatch> batch_;
    std::vector<std::uint8_t> families_;
    struct Operation;
  };
  // All of it or nothing, durable (synced write-ahead log) when it returns.
  Result<void> write(const Batch& batch);

  // A consistent view of everything committed, for long walks (statistics, fsck, reclaim).
  class Snapshot;
  std::shared_ptr<const Snapshot> snapshot() const;
  // Calls visit(key, value) for all of a family in order of key, until it returns false. Verifies checksums, does not fill
  // the cache.
  Result<void> walk(const Snapshot& snapshot, Family family,
                    const std::function<bool(std::string_view key, std::string_view value)>& visit) const;

  std::uint64_t memory_used_bytes() const;

 private:
  struct State;
  explicit Database(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dedupfs
