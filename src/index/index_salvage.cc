#include "index/index_salvage.h"

#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/sst_file_writer.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.h"
#include "index/counters.h"
#include "index/database_options.h"
#include "index/database_state.h"
#include "index/index_guard.h"
#include "index/log_damage.h"
#include "index/table_format.h"

namespace dedupfs {
namespace {

constexpr std::array kNamespaceFamilies = {Family::kInodes, Family::kDirents, Family::kXattrs, Family::kRecipes,
                                           Family::kOrphans};
constexpr std::string_view kSalvageMark = "salvage mark of dedupfs";  // a key that no family has
constexpr std::size_t kMaxHoles = 10'000;                             // of a family; more, and what follows is given up

// ---------------------------------------------------------------- reading around damage

// `key` taken for a number of 16 bytes, plus 2^power; empty: that is too large.
std::string key_behind(std::string_view key, int power) {
  std::string behind(key.substr(0, 16));
  behind.resize(16, '\0');
  unsigned carry = 1U << (power % 8);
  for (std::size_t at = 16 - static_cast<std::size_t>(power / 8); carry != 0 && at-- > 0;) {
    carry += static_cast<std::uint8_t>(behind[at]);
    behind[at] = static_cast<char>(carry);
    carry >>= 8;
  }
  return carry != 0 ? std::string() : behind;
}

// A database that may lack parts.
class DamagedRecords final : public RecordSource {
 public:
  DamagedRecords(std::unique_ptr<Database> database, std::shared_ptr<BackingFolder> volume, std::string_view scratch)
      : database_(std::move(database)), volume_(std::move(volume)), scratch_(scratch) {}
  DamagedRecords(const DamagedRecords&) = delete;
  DamagedRecords& operator=(const DamagedRecords&) = delete;
  ~DamagedRecords() override {
    database_.reset();
    if (!scratch_.empty()) (void)remove_tree(*volume_, scratch_);  // else the next repair does it
  }

  Result<void> walk(Family family, const Visit& visit) const override {
    walk_around_holes(
        family, [&](std::string_view key, std::string_view value) { return key == kSalvageMark || visit(key, value); });
    return {};
  }

  // Returns the first Error, if a part of the family cannot be read.
  Result<void> first_hole(Family family) const {
    return database_->walk(*database_->snapshot(), family, [](std::string_view, std::string_view) { return true; });
  }
  std::optional<std::string> volume_uuid() const {
    const auto uuid = database_->get(Family::kCounters, kVolumeUuidCounter);
    return uuid ? *uuid : std::nullopt;
  }

 private:
  void walk_around_holes(Family family, const Visit& visit) const {
    std::size_t holes = 0;
    std::string last;  // the key that was visited last
    bool stopped = false;
    const auto whole =
        database_->walk(*database_->snapshot(), family, [&](std::string_view key, std::string_view value) {
          last = key;
          return !(stopped = !visit(key, value));
        });
    for (bool readable = whole.has_value(); !readable && !stopped && holes < kMaxHoles;) {
      ++holes;
      const std::string from = find_behind_hole(family, last);
      if (from.empty()) break;
      readable = walk_from(family, from, last, visit, stopped);
    }
  }

  // Up to the next hole, which makes it false.
  bool walk_from(Family family, std::string from, std::string& last, const Visit& visit, bool& stopped) const {
    for (;;) {
      // One entry at a time: a list that meets a hole loses the entries before it.
      const auto entries = database_->list(family, from, {}, 1);
      if (!entries) return false;
      if (entries->empty()) return true;
      last = entries->front().first;
      if (!visit(last, entries->front().second)) {
        stopped = true;
        return true;
      }
      from = last + '\0';
    }
  }

  bool can_read_at(Family family, const std::string& key) const {
    return database_->list(family, key, {}, 1).has_value();
  }

  // The nearest key behind `last`, by its first 16 bytes, from which reading can continue; empty if there is none.
  std::string find_behind_hole(Family family, const std::string& last) const {
    constexpr int kBits = 128;
    int power = 0;
    std::string readable;
    for (; power < kBits; ++power) {
      readable = key_behind(last, power);
      if (readable.empty()) return {};
      if (can_read_at(family, readable)) break;
    }
    if (power == kBits) return {};
    // Between the last power that was too little and the first that was enough.
    std::string unreadable = power == 0 ? last : key_behind(last, power - 1);
    for (int step = power - 2; step >= 0; --step) {
      const std::string middle = key_behind(unreadable, step);
      if (middle.empty() || middle >= readable) continue;
      if (can_read_at(family, middle))
        readable = middle;
      else
        unreadable = middle;
    }
    return readable;
  }

  std::unique_ptr<Database> database_;
  const std::shared_ptr<BackingFolder> volume_;
  const std::string scratch_;  // removed at the end, if it is not empty
};

// ---------------------------------------------------------------- RocksDB's own files

Result<void> result_of(const rocksdb::Status& status, const Path& path) {
  if (status.ok()) return {};
  return Error{status.IsNoSpace() ? ErrorCode::kNoSpace : ErrorCode::kCorruption,
               path.string() + ": " + status.ToString()};
}

Result<void> copy_file(BackingFolder& from, BackingFolder& to, std::string_view name) {
  constexpr std::size_t kAtOnce = 1 << 20;
  DEDUPFS_ASSIGN(const auto source, from.open(name, Backing::Mode::kRead));
  DEDUPFS_TRY(is_table(name) ? judge_table(*source) : judge_stream(*source));
  DEDUPFS_ASSIGN(const auto copy, to.open(name, Backing::Mode::kCreate));
  std::vector<std::uint8_t> buffer(kAtOnce);
  for (std::uint64_t offset = 0;;) {
    DEDUPFS_ASSIGN(const std::size_t length, source->read_up_to(offset, buffer));
    if (length == 0) return {};
    DEDUPFS_TRY(copy->write(offset, ByteSpan(buffer).first(length)));
    offset += length;
  }
}

// Tables never change, so a hard link is enough. Other files are copied.
using Wanted = std::function<bool(const Path& name)>;
Result<void> copy_files(BackingFolder& from, BackingFolder& to, const Wanted& wanted) {
  DEDUPFS_ASSIGN(const auto names, from.list());
  for (const std::string& name : names) {
    DEDUPFS_ASSIGN(const Backing::Type type, from.type(name));
    if (type != Backing::Type::kFile || !wanted(name)) continue;
    if (is_table(name) && from.link(name, to, name)) continue;
    auto copied = copy_file(from, to, name);
    if (!copied && copied.error().code() == ErrorCode::kNoSpace) return copied;
    if (!copied) DEDUPFS_TRY(remove_tree(to, name));  // what cannot be read is missing
  }
  return {};
}

std::uint64_t number_in(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return 0;
  const std::string digits(name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
  return std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; }) && !digits.empty()
             ? std::strtoull(digits.c_str(), nullptr, 10)
             : 0;
}

Result<std::uint64_t> largest_number(BackingFolder& folder, std::string_view prefix, std::string_view suffix) {
  DEDUPFS_ASSIGN(const auto names, folder.list());
  std::uint64_t largest = 0;
  for (const std::string& name : names) largest = std::max(largest, number_in(name, prefix, suffix));
  return largest;
}

// CURRENT names the newest MANIFEST. If CURRENT is missing, the newest one is chosen.
Result<bool> restore_current(BackingFolder& folder) {
  DEDUPFS_ASSIGN(const std::uint64_t newest, largest_number(folder, "MANIFEST-", ""));
  if (newest == 0) return false;
  DEDUPFS_TRY(replace_file(folder, "CURRENT", bytes_of(fmt::format("MANIFEST-{:06}\n", newest))));
  return true;
}

std::vector<rocksdb::ColumnFamilyDescriptor> families_of(const DatabaseOptions& options) {
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (std::size_t i = 0; i < kFamilyCount; ++i)
    families.emplace_back(std::string(name_of(static_cast<Family>(i))), options.families[i]);
  families.emplace_back(rocksdb::kDefaultColumnFamilyName, options.families[0]);
  return families;
}

// A table of one key, older than every other.
rocksdb::Status write_mark(const Path& path, const rocksdb::Options& options, rocksdb::ColumnFamilyHandle* family) {
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options, family);
  rocksdb::Status status = writer.Open(path.string());
  if (status.ok()) status = writer.Put({kSalvageMark.data(), kSalvageMark.size()}, {});
  if (status.ok()) status = writer.Finish();
  return status;
}

// RocksDB learns the families from the tables, and drops log records of other families. So each family gets a table, with the same
// family numbers as in every index.
Result<void> make_family_tables(const std::shared_ptr<BackingFolder>& folder, std::uint64_t first_number) {
  DEDUPFS_TRY(Database::create(folder));
  const DatabaseOptions options = make_database_options(Database::kMinMemoryBytes, folder);
  const Path& path = folder->path();
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  DEDUPFS_TRY(result_of(
      rocksdb::DB::OpenForReadOnly(options.database, path.string(), families_of(options), &handles, &opened), path));
  const std::unique_ptr<rocksdb::DB> db(opened);
  rocksdb::Status status;
  for (std::size_t i = 0; i < kFamilyCount && status.ok(); ++i)
    status = write_mark(path / fmt::format("{:06}.sst", first_number + i),
                        rocksdb::Options(options.database, options.families[i]), handles[i]);
  for (rocksdb::ColumnFamilyHandle* handle : handles) db->DestroyColumnFamilyHandle(handle);
  return result_of(status, path);
}

// Reads all tables and logs, without a MANIFEST.
Result<void> repair_files(BackingFolder& index, const std::shared_ptr<BackingFolder>& scratch, const Wanted& wanted) {
  DEDUPFS_ASSIGN(const std::uint64_t last_table, largest_number(index, "", ".sst"));
  DEDUPFS_ASSIGN(const std::uint64_t last_log, largest_number(index, "", ".log"));
  DEDUPFS_TRY(make_family_tables(scratch, std::max(last_table, last_log) + 1));
  DEDUPFS_ASSIGN(const auto made, scratch->list());
  for (const std::string& name : made)  // of the database that our tables were made with
    if (!is_table(name)) DEDUPFS_TRY(remove_tree(*scratch, name));
  DEDUPFS_TRY(copy_files(index, *scratch, [&](const Path& name) {
    return (is_table(name.native()) || name.extension() == ".log") && wanted(name);
  }));

  DatabaseOptions options = make_database_options(Database::kMinMemoryBytes, scratch);
  options.database.create_if_missing = true;
  options.database.track_and_verify_wals_in_manifest = false;
  options.database.info_log->SetInfoLogLevel(rocksdb::FATAL_LEVEL);  // the survey reports the fault of each file
  return result_of(without_exceptions([&] {
                     return rocksdb::RepairDB(scratch->path().string(), options.database, families_of(options),
                                              options.families[0]);
                   }),
                   scratch->path());
}

class Survey {
 public:
  Survey(const std::shared_ptr<BackingFolder>& volume, std::string_view index, std::string_view scratch,
         const std::vector<HarmfulTable>& harmful)
      : volume_(volume), index_(index), scratch_(scratch), harmful_(harmful) {}

  Result<IndexSurvey> run() {
    DEDUPFS_TRY(remove_tree(*volume_, scratch_));
    DEDUPFS_ASSIGN(const Backing::Type type, volume_->type(index_));
    if (type != Backing::Type::kDirectory) {
      add_damage((volume_->path() / index_).string() + " is missing");
      return std::move(survey_);
    }
    DEDUPFS_ASSIGN(const auto index, volume_->open_folder(index_));
    for (const HarmfulTable& table : harmful_) add_damage(table.harm);
    bool opens = false;
    if (harmful_.empty()) {
      const auto opened = open_strictly(index);
      if (!opened) add_damage(opened.error().message());
      opens = opened.has_value();
      if (look_into(open_damaged(index, {}), index, opens)) return std::move(survey_);
    }
    DEDUPFS_ASSIGN(auto scratch, make_scratch());
    DEDUPFS_TRY(
        copy_files(*index, *scratch, [this](const Path& name) { return name != "CURRENT" && is_wanted(name); }));
    DEDUPFS_ASSIGN(const bool has_manifest, opens ? Result<bool>(false) : restore_current(*scratch));
    DEDUPFS_ASSIGN(const bool is_by_manifest, has_manifest ? is_harmless(scratch) : Result<bool>(false));
    if (is_by_manifest && look_into(open_damaged(scratch, scratch_), scratch, open_strictly(scratch).has_value()))
      return std::move(survey_);
    DEDUPFS_ASSIGN(scratch, make_scratch());
    if (const auto repaired = repair_files(*index, scratch, [this](const Path& name) { return is_wanted(name); });
        !repaired) {
      if (repaired.error().code() == ErrorCode::kNoSpace) return repaired.error();
      add_damage(repaired.error().message());
      DEDUPFS_TRY(remove_tree(*volume_, scratch_));
      return std::move(survey_);
    }
    take(open_damaged(scratch, scratch_));
    return std::move(survey_);
  }

 private:
  void add_damage(std::string what) { survey_.damage.push_back(std::move(what)); }
  // The manifest of the new folder may be one that nobody has looked at yet.
  static Result<bool> is_harmless(const std::shared_ptr<BackingFolder>& scratch) {
    DEDUPFS_ASSIGN(const auto harmful, harmful_tables(scratch));
    return harmful.empty();
  }
  bool is_wanted(const Path& name) const {
    return std::ranges::find(harmful_, name.native(), &HarmfulTable::name) == harmful_.end();
  }

  static Result<void> open_strictly(const std::shared_ptr<BackingFolder>& folder) {
    const auto opened = Database::open(folder, {.memory_bytes = Database::kMinMemoryBytes, .read_only = true});
    return opened ? Result<void>() : opened.error();
  }
  // `scratch`: the name of the folder that is removed with the records; empty: none.
  std::unique_ptr<DamagedRecords> open_damaged(const std::shared_ptr<BackingFolder>& folder,
                                               std::string_view scratch) const {
    auto database =
        Database::open(folder, {.memory_bytes = Database::kMinMemoryBytes, .read_only = true, .damaged = true});
    if (!database) return nullptr;
    return std::make_unique<DamagedRecords>(std::move(*database), volume_, scratch);
  }

  Result<std::shared_ptr<BackingFolder>> make_scratch() {
    DEDUPFS_TRY(remove_tree(*volume_, scratch_));
    return volume_->make_and_open_folder(scratch_);
  }

  // Salvages from the database as it is. False: nothing was found, or the single files may give more.
  bool look_into(std::unique_ptr<DamagedRecords> records, const std::shared_ptr<BackingFolder>& folder, bool opens) {
    if (!records) return false;
    bool any_hole = false;
    bool all_of_a_family = false;
    for (std::size_t i = 0; i < kFamilyCount; ++i) {
      const auto family = static_cast<Family>(i);
      const auto hole = records->first_hole(family);
      survey_.is_whole[i] = hole.has_value();
      if (hole) continue;
      any_hole = true;
      add_damage(hole.error().message() + " (" + std::string(name_of(family)) + ")");
      const bool matters = std::ranges::find(kNamespaceFamilies, family) != kNamespaceFamilies.end();
      bool any_record = false;
      if (matters)
        static_cast<void>(records->walk(family, [&](auto, auto) { return !(any_record = true); }));  // never fails
      if (matters && !any_record) all_of_a_family = true;
    }
    if (!opens && !any_hole) {  // the tables are fine, so the log prevents the open
      add_damage("the log of the index is damaged or missing: the changes in it are lost");
      survey_.is_whole.fill(false);
    }
    if (const auto lost = changes_behind_damage(*folder); lost && *lost != 0) {
      add_damage(fmt::format("the log of the index is damaged: {} changes behind the damage are lost", *lost));
      survey_.is_whole.fill(false);
    }
    if (all_of_a_family) return false;
    survey_.volume_uuid = records->volume_uuid();
    survey_.records = std::move(records);
    return true;
  }

  void take(std::unique_ptr<DamagedRecords> records) {
    survey_.is_whole.fill(false);
    if (!records) return;
    survey_.volume_uuid = records->volume_uuid();
    survey_.records = std::move(records);
  }

  const std::shared_ptr<BackingFolder>& volume_;
  const std::string_view index_;
  const std::string_view scratch_;
  const std::vector<HarmfulTable>& harmful_;
  IndexSurvey survey_;
};

}  // namespace

bool IndexSurvey::namespace_is_whole() const {
  return records != nullptr && std::ranges::all_of(kNamespaceFamilies, [this](Family family) {
           return is_whole[static_cast<std::size_t>(family)];
         });
}

Result<IndexSurvey> survey_index(const std::shared_ptr<BackingFolder>& volume, std::string_view index,
                                 std::string_view scratch, const std::vector<HarmfulTable>& harmful) {
  return Survey(volume, index, scratch, harmful).run();
}

}  // namespace dedupfs
