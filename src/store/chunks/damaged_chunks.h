// The chunks that are known to be damaged: a read of them failed, or a check found it. A writer that brings the content of one
// stores it again, under the same id. That heals every file that refers to it.
//
// It is a hint. A damaged chunk that is not listed is not healed, and nothing else. A listed chunk that can be read after all is
// removed from the list when a writer finds that out.
//
// Threads: every function from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "store/format/types.h"

namespace dedupfs {

inline constexpr std::string_view kDamagedChunksCounter = "damaged_chunks";  // in Family::kCounters

class DamagedChunks {
 public:
  // More are not remembered: a volume with so much damage wants fsck.
  static constexpr std::size_t kMax = 1 << 20;

  void insert(ChunkId first, std::size_t count = 1);
  std::size_t erase(ChunkId first, std::size_t count = 1);  // how many were there
  bool contains(ChunkId id) const;
  std::size_t size() const { return size_; }
  std::vector<std::uint64_t> numbers() const;  // ascending

  struct Encoded {
    std::string bytes;
    std::uint64_t version = 0;
  };
  // The list `without` the chunks that a commit heals. They stay on it until that commit has succeeded.
  Encoded encode(const std::vector<ChunkId>& without = {}) const;
  // Whether there is something to store: the version that was loaded or stored last is older.
  bool changed() const { return version_ != stored_version_; }
  // The result of encode() for these arguments is durable: removes from the list the chunks that encode() left out.
  void note_stored(std::uint64_t version, const std::vector<ChunkId>& without = {});
  Result<void> load(std::string_view encoded);

 private:
  std::atomic<std::size_t> size_ = 0;  // asked for each duplicate, and nearly always 0
  std::atomic<std::uint64_t> version_ = 0;
  std::atomic<std::uint64_t> stored_version_ = 0;
  mutable Mutex mutex_;
  std::set<std::uint64_t> numbers_ DEDUPFS_GUARDED_BY(mutex_);
};

}  // namespace dedupfs
