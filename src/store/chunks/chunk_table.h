// The chunks of a volume, their lengths, and which of them cannot be read. Recipes are checked against this table.
//
// Threads: one user at a time.
// Memory:  four bytes a chunk, and about a hundred for each that cannot be read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "index/database.h"
#include "store/chunks/chunk_index.h"

namespace dedupfs {

class ChunkTable {
 public:
  // Extents come in order of ids; one that overlaps its predecessor is refused.
  bool add(const ChunkExtent& extent);
  std::optional<std::uint32_t> length_of(ChunkId id) const;
  std::uint64_t chunks() const { return lengths_.size(); }
  std::uint64_t end() const {
    return extents_.empty() ? 0 : extents_.back().end;
  }  // no chunk has this id or a greater one

  // Chunks that are there and do not give their bytes: damaged, or made from one that is missing or damaged. Why, if it is
  // known already; the first reason stays, in short where there are very many.
  bool mark_unreadable(ChunkId id, const std::string& why = {}) {
    const bool is_short = bytes_of_reasons_ + why.size() > kMaxBytesOfReasons;
    const bool is_new = unreadable_.try_emplace(number_of(id), is_short ? "unreadable" : why).second;
    if (is_new && !is_short) bytes_of_reasons_ += why.size();
    return is_new;
  }
  void mark_readable(ChunkId id) { unreadable_.erase(number_of(id)); }
  void mark_all_readable() { unreadable_.clear(); }
  bool is_unreadable(ChunkId id) const { return unreadable_.contains(number_of(id)); }
  const std::unordered_map<std::uint64_t, std::string>& unreadable() const { return unreadable_; }

 private:
  struct Run {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    std::size_t index = 0;  // of the first length
  };

  static constexpr std::size_t kMaxBytesOfReasons = 4 << 20;

  std::vector<Run> extents_;
  std::vector<std::uint32_t> lengths_;
  std::unordered_map<std::uint64_t, std::string> unreadable_;
  std::size_t bytes_of_reasons_ = 0;
};

// Marks the deltas whose sources are missing or unreadable, or may not be theirs, and those that are made from them in turn.
Result<void> mark_unreadable_deltas(
    const Database& database, ChunkTable& table,
    const std::function<bool(ChunkId delta, ChunkId source)>& may_be_made_from = [](ChunkId, ChunkId) { return true; });

}  // namespace dedupfs
