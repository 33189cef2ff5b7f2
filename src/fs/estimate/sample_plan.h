// The sample: which parts of which files, in which order.
//
// A unit of the sample is a *column*: the same part of the same file in all generations of it. So what a file shares with its older
// versions is in the sample, however small the sample is. Generations are: the same path below several roots; and names in one
// folder that differ in digits only, such as dump-1.rdb and dump-2.rdb, or the folders 2026-01-01 and 2026-01-02 of a root.
// A large file is cut into windows, one for each column. The small files of a folder stay together, as they would lie together in
// a volume.
//
// Columns are taken in a random order that a seed decides. So each prefix of the order is a fair sample.
//
// Threads: one user at a time.
// Memory:  bounded: of a very large tree only the first columns of the order are kept. Some bytes for each file of 1 MiB and more,
//          and for each with several names.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fs/estimate/source_tree.h"
#include "fs/estimate/tree_copy.h"

namespace dedupfs {

// One of `count` parts of a file of about the same length, without the holes in it.
struct FilePart {
  std::uint32_t index = 0;
  std::uint32_t count = 1;
};

struct SamplePiece {
  std::size_t root = 0;
  std::string relative;  // as SourceEntry::relative_path()
  FilePart part;
  std::uint64_t bytes = 0;  // as expected
};

using Column = std::vector<SamplePiece>;  // in the order of the walk

// What there is in all, as the walk found it.
struct SourceTotals {
  std::uint64_t files = 0;
  std::uint64_t directories = 0;
  std::uint64_t symlinks = 0;
  std::uint64_t special_files = 0;
  std::uint64_t logical_bytes = 0;  // of regular files, one with several names once
  std::uint64_t data_bytes = 0;     // of these, without holes
};

class SamplePlan final : public SourceVisitor {
 public:
  struct Settings {
    std::uint64_t seed = 1;
    std::uint64_t window_bytes = 2 << 20;
    std::size_t max_bytes = 100'000'000;  // of memory for pieces
  };

  SamplePlan(const SourceTree& tree, Settings settings) : tree_(tree), settings_(settings) {}

  Result<void> visit(const SourceEntry& entry) override;
  void note_unreadable(const Error& error) override { problems_.note(error); }
  Result<void> go_on() override { return {}; }

  const SourceTotals& totals() const { return totals_; }
  const SourceProblems& problems() const { return problems_; }
  // Whether the columns have all files.
  bool is_whole() const { return end_of_keys_ == UINT64_MAX; }
  // By key: that is their order.
  const std::map<std::uint64_t, Column>& columns() const { return columns_; }

 private:
  void add_file(const SourceEntry& entry);
  void add_large_file(const SourceEntry& entry, std::uint64_t file_key, std::uint64_t data_bytes);
  void note_top_folder(const SourceEntry& entry);
  std::string generic_directory(const SourceEntry& entry) const;
  void add_piece(std::uint64_t key, const SourceEntry& entry, FilePart part, std::uint64_t bytes);

  const SourceTree& tree_;
  const Settings settings_;
  SourceTotals totals_;
  SourceProblems problems_;
  std::map<std::uint64_t, Column> columns_;
  std::size_t bytes_ = 0;                   // of memory that the columns take
  std::uint64_t end_of_keys_ = UINT64_MAX;  // columns from here on are left out
  std::set<std::pair<dev_t, ino_t>> linked_;
  std::unordered_map<std::uint64_t, std::uint32_t> windows_;  // of the first generation of a large file

  // Of the folder that the walk is in:
  std::string folder_;
  std::size_t folder_root_ = 0;
  std::string bucket_;  // the name of the first file of the small ones that stay together
  std::unordered_map<std::string, std::uint32_t> generations_;
  // Of the root that the walk is in: folders with alike names so far, and the turn of this one.
  std::string top_folder_;
  std::unordered_map<std::string, std::uint32_t> top_generations_;
  std::uint32_t top_turn_ = 0;
};

// The name with each run of digits as one '#': alike for the generations of a file.
std::string generic_name(std::string_view name);

}  // namespace dedupfs
