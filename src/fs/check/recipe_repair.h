// The part of namespace repair that copies recipes: missing and contradictory parts become lost ranges.
//
// Threads: one user at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fs/check/repair_log.h"
#include "fs/format/recipe_format.h"
#include "index/bulk_writer.h"
#include "store/chunks/chunk_table.h"

namespace dedupfs {

// One file at a time: begin(), its segments in order, end().
class RecipeRepair {
 public:
  RecipeRepair(const ChunkTable& chunks, BulkWriter& to, const RepairLog& log) : chunks_(chunks), to_(to), log_(log) {}

  // The attributes from the inode; absent if the inode is lost, so that only the recipe is known.
  struct Recorded {
    std::uint64_t size = 0;
    std::uint64_t data_bytes = 0;
  };
  void begin(InodeNumber inode, std::optional<Recorded> recorded);
  Result<void> add(std::uint64_t offset, std::string_view segment);
  // Returns the correct attributes for the inode.
  Result<Recorded> end();

  std::uint64_t end_of_chunks() const { return end_of_chunks_; }

 private:
  void check_references(std::uint64_t offset, std::vector<RecipeEntry>& entries);
  void merge(std::uint64_t offset, std::vector<RecipeEntry> entries);
  Result<void> write_pending();
  Result<void> write_lost(std::uint64_t to_offset, std::string_view why);
  std::uint64_t pending_end() const { return pending_offset_ + pending_length_; }
  void set_pending(std::uint64_t offset, std::vector<RecipeEntry> entries);

  const ChunkTable& chunks_;
  BulkWriter& to_;
  const RepairLog& log_;
  std::uint64_t end_of_chunks_ = 1;

  // State for the file:
  InodeNumber inode_ = 0;
  std::optional<Recorded> recorded_;
  bool is_cut_ = false;  // the rest is given up
  std::uint64_t data_bytes_ = 0;
  // A segment that is not written yet, and those that overlap it.
  std::uint64_t pending_offset_ = 0;
  std::uint64_t pending_length_ = 0;
  std::vector<RecipeEntry> pending_;
};

}  // namespace dedupfs
