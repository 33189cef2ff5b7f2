// The repair of a namespace, in steps: read the inodes and names, resolve contradictions, write the copy. See
// namespace_repair.h for the contract. namespace_repair.cc reads and decides, name_repair.cc writes names, inode_repair.cc
// writes all other records.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fs/check/namespace_repair_scope.h"
#include "fs/check/recipe_repair.h"
#include "fs/check/repair_log.h"
#include "fs/format/records.h"
#include "index/bulk_writer.h"
#include "index/database.h"
#include "index/record_source.h"
#include "store/chunks/chunk_table.h"

namespace dedupfs {

class NamespaceRepair {
 public:
  NamespaceRepair(const RecordSource& from, const ChunkTable& chunks, Database& to, const RepairLog& log,
                  const NamespaceRepairScope& scope)
      : from_(from), to_(to), writer_(to), recipes_(chunks, writer_, log), log_(log), scope_(scope) {
    for (const auto& [number, quota] : scope.quotas.quotas) quota_at_.emplace(quota.directory, number);
  }

  Result<RepairedNamespace> run();

 private:
  static constexpr std::string_view kLostAndFound = "lost+found";
  static constexpr std::uint64_t kMaxCookie = std::uint64_t{1} << 62;  // counting up from there would take for ever
  static constexpr std::uint64_t kSteps = 6;                           // of progress
  static constexpr std::uint64_t kRecordsPerReport = 4096;

  struct Node {
    std::uint32_t mode = 0;
    std::uint64_t size = 0;
    std::uint64_t data_bytes = 0;
    std::uint64_t next_cookie = kFirstCookie;
    InodeNumber parent = 0;        // of a directory: as recorded, then as chosen; 0: it has no name
    QuotaNumber quota = kNoQuota;  // as recorded
    // Found by the repair:
    std::uint32_t names = 0;
    InodeNumber first_parent = 0;  // the directory of its first name
    std::uint32_t subdirectories = 0;
    std::uint64_t entries = 0;
    bool is_made = false;  // its record was lost
    bool is_orphan = false;
    bool is_named_by_parent = false;  // of a directory: the recorded parent has a name for it
    bool has_xattrs = false;
    bool has_recipe = false;
  };

  // State for one directory, while its entries pass by.
  struct Entries {
    InodeNumber directory = 0;
    std::unordered_set<std::uint64_t> cookies;
    std::vector<std::pair<std::string, Dirent>> without_cookie;
  };

  template <class Visit>
  Result<void> walk(Family family, Visit visit) {
    return walk_with([&](const RecordSource::Visit& each) { return from_.walk(family, each); }, visit);
  }
  // The gathered names, as they were when the walk began.
  template <class Visit>
  Result<void> walk_names(Visit visit) {
    DEDUPFS_TRY(writer_.flush());
    const auto names = to_.snapshot();
    return walk_with([&](const RecordSource::Visit& each) { return to_.walk(*names, Family::kDirents, each); }, visit);
  }
  template <class Walk, class Visit>
  Result<void> walk_with(Walk walk_records, Visit visit) {
    Result<void> result;
    std::uint64_t records = 0;
    DEDUPFS_TRY(walk_records([&](std::string_view key, std::string_view value) {
      result = visit(key, value);
      if (result && ++records % kRecordsPerReport == 0) result = scope_.progress(scope_.pass, steps_, kSteps);
      return result.has_value();
    }));
    return result;
  }

  // --- reading

  Result<void> step();
  Node* find(InodeNumber number);
  Node* find_directory(InodeNumber number);
  Result<void> read_inodes();
  Result<void> read_orphans();
  // Copies the names, so that they can be changed. If names are missing, the order of the directory may still have them.
  Result<void> gather_names();

  // --- deciding

  // Makes inodes for lost records: of directories that still have entries, and of files that still have content.
  Result<void> make_lost_inodes();
  void make_node(InodeNumber number, std::uint32_t mode);
  // A directory has one name: the one that agrees with its '..', else the first.
  Result<void> choose_parents();
  // Follows '..' up from each directory. If the path does not reach the root, but ends elsewhere or in a loop, its top gets a
  // name in lost+found.
  void adopt_what_is_out_of_reach();

  // --- names: name_repair.cc

  Result<void> write_names();
  Result<void> write_name(const DirentKey& place, Dirent dirent, Entries& entries);
  std::string reason_to_drop(const DirentKey& place, const Dirent& dirent);
  Result<void> give_cookies(const Entries& entries);
  // An unchanged name is there already.
  Result<void> put_name(InodeNumber parent, std::string_view name, const Dirent& dirent, bool changed);
  Result<void> write_adopted();
  Result<void> make_lost_and_found();
  // Returns `wanted`, with a number if that name is in use.
  Result<std::string> free_name(InodeNumber directory, const std::string& wanted);
  Result<void> add_name(InodeNumber directory, const std::string& name, InodeNumber number);
  // Writes the before-image of a key that the repair adds or changes. So snapshots do not see "lost+found", and a rollback leaves no
  // dangling name in the root. An image that exists already is written later and replaces this one.
  Result<void> preserve(Family family, const std::string& key, const std::optional<std::string>& before);
  // `as_found`: the old record, if it was readable.
  Result<void> preserve_inode(InodeNumber number, InodeRecord record, std::string_view as_found);

  // --- the other records: inode_repair.cc

  Result<void> write_xattrs();
  Result<void> write_recipes();
  void begin_recipe(InodeNumber number, Node& node);
  Result<void> end_recipe(InodeNumber number);
  Result<void> write_inodes();
  // Corrects the record, and returns the differences as text.
  std::string correct(InodeRecord& record, const Node& node, InodeNumber number);
  // That of the highest directory with a quota on the way up.
  QuotaNumber quota_of(InodeNumber number, const Node& node);
  Result<void> write_quotas();
  Result<void> write_orphans();
  Result<std::optional<std::uint64_t>> recorded_counter(std::string_view name);
  Result<void> write_counters();

  const RecordSource& from_;
  Database& to_;
  BulkWriter writer_;
  RecipeRepair recipes_;
  const RepairLog& log_;
  const NamespaceRepairScope& scope_;

  std::unordered_map<InodeNumber, Node> nodes_;
  std::vector<InodeNumber> adopted_;                       // inodes that get a name in lost+found
  std::unordered_map<InodeNumber, Node> without_adopted_;  // directories that get such names, before they got them
  InodeNumber lost_and_found_ = 0;
  std::unordered_map<InodeNumber, QuotaNumber> quota_at_;            // those that directories have themselves
  std::unordered_map<InodeNumber, QuotaNumber> quota_of_directory_;  // those that count them
  std::uint64_t steps_ = 0;
};

}  // namespace dedupfs
