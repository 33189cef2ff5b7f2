#include "index/database.h"

#include <rocksdb/iterator.h>
#include <rocksdb/metadata.h>
#include <rocksdb/snapshot.h>
#include <rocksdb/table_properties.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <string>

#include "index/database_state.h"

namespace dedupfs {
namespace {

std::string_view view(const rocksdb::Slice& text) {
  return {text.data(), text.size()};
}

// An iterator and the slices that bound it, which it only points to. Without a family it finds nothing.
class BoundedIterator {
 public:
  BoundedIterator(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family, std::string_view from, std::string_view end)
      : from_(slice_of(from)), end_(slice_of(end)) {
    rocksdb::ReadOptions options;
    if (!from.empty()) options.iterate_lower_bound = &from_;
    if (!end.empty()) options.iterate_upper_bound = &end_;
    iterator_.reset(family == nullptr ? rocksdb::NewEmptyIterator() : db.NewIterator(options, family));
  }
  BoundedIterator(const BoundedIterator&) = delete;
  BoundedIterator& operator=(const BoundedIterator&) = delete;

  rocksdb::Iterator* operator->() { return iterator_.get(); }
  KeyValue entry() const { return {iterator_->key().ToString(), iterator_->value().ToString()}; }

 private:
  rocksdb::Slice from_;
  rocksdb::Slice end_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

// By their names.
std::map<std::string, rocksdb::SstFileMetaData> tables_of(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family) {
  rocksdb::ColumnFamilyMetaData described;
  db.GetColumnFamilyMetaData(family, &described);
  std::map<std::string, rocksdb::SstFileMetaData> tables;
  for (const auto& level : described.levels)
    for (const auto& table : level.files) tables.emplace(table.name.substr(table.name.rfind('/') + 1), table);
  return tables;
}

// Writes each table anew. While RocksDB begins, its automatic compaction may move tables to a level that it has decided not to look at, as
// they are. So what is still there takes another round.
rocksdb::Status compact_whole_family(rocksdb::DB& db, const rocksdb::CompactRangeOptions& options,
                                     rocksdb::ColumnFamilyHandle* family) {
  constexpr int kFurtherRounds = 2;
  const auto before = tables_of(db, family);
  rocksdb::Status status = db.CompactRange(options, family, nullptr, nullptr);
  for (int round = 0; status.ok() && round < kFurtherRounds; ++round) {
    auto left = tables_of(db, family);
    std::erase_if(left, [&](const auto& table) { return !before.contains(table.first); });
    for (const auto& [name, table] : left) {
      const rocksdb::Slice first = table.smallestkey;
      const rocksdb::Slice last = table.largestkey;
      if (status = db.CompactRange(options, family, &first, &last); !status.ok()) break;
    }
  }
  return status;
}

}  // namespace

Error DatabaseState::error_of(const rocksdb::Status& status) const {
  const ErrorCode code = status.IsCorruption()    ? ErrorCode::kCorruption
                         : status.IsNoSpace()     ? ErrorCode::kNoSpace
                         : status.IsMemoryLimit() ? ErrorCode::kNoMemory
                         : status.IsBusy()        ? ErrorCode::kBusy
                                                  : ErrorCode::kIo;
  return {code, "index " + path + ": " + status.ToString()};
}

Result<void> DatabaseState::result_of(const rocksdb::Status& status) const {
  if (!status.ok()) return error_of(status);
  return {};
}

Database::Database(std::unique_ptr<DatabaseState> state) : state_(std::move(state)) {}
Database::~Database() = default;

Result<std::optional<std::string>> Database::get(Family family, std::string_view key) const {
  std::string value;
  if (state_->handle(family) == nullptr) return std::nullopt;
  const rocksdb::Status status = state_->db->Get({}, state_->handle(family), slice_of(key), &value);
  if (status.IsNotFound()) return std::nullopt;
  DEDUPFS_TRY(state_->result_of(status));
  return value;
}

Result<std::optional<KeyValue>> Database::find_before(Family family, std::string_view key,
                                                      std::string_view from) const {
  if (key.empty()) return std::nullopt;
  BoundedIterator iterator(*state_->db, state_->handle(family), from, {});
  iterator->SeekForPrev(slice_of(key));
  if (iterator->Valid() && view(iterator->key()) == key) iterator->Prev();
  if (iterator->Valid()) return iterator.entry();
  DEDUPFS_TRY(state_->result_of(iterator->status()));
  return std::nullopt;
}

Result<std::optional<KeyValue>> Database::find_at_or_before(Family family, std::string_view key,
                                                            std::string_view from) const {
  BoundedIterator iterator(*state_->db, state_->handle(family), from, {});
  iterator->SeekForPrev(slice_of(key));
  if (iterator->Valid()) return iterator.entry();
  DEDUPFS_TRY(state_->result_of(iterator->status()));
  return std::nullopt;
}

Result<std::vector<KeyValue>> Database::list(Family family, std::string_view from, std::string_view end,
                                             std::size_t limit) const {
  std::vector<KeyValue> entries;
  if (limit == 0 || (!end.empty() && from >= end)) return entries;
  BoundedIterator iterator(*state_->db, state_->handle(family), from, end);
  for (iterator->Seek(slice_of(from)); iterator->Valid() && entries.size() < limit; iterator->Next())
    entries.push_back(iterator.entry());
  DEDUPFS_TRY(state_->result_of(iterator->status()));
  return entries;
}

class Database::Snapshot {
 public:
  explicit Snapshot(rocksdb::DB& db) : db_(db), snapshot_(db.GetSnapshot()) {}
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  ~Snapshot() { db_.ReleaseSnapshot(snapshot_); }

  const rocksdb::Snapshot* get() const { return snapshot_; }

 private:
  rocksdb::DB& db_;
  const rocksdb::Snapshot* const snapshot_;
};

std::shared_ptr<const Database::Snapshot> Database::snapshot() const {
  return std::make_shared<const Snapshot>(*state_->db);
}

Result<void> Database::walk(const Snapshot& snapshot, Family family,
                            const std::function<bool(std::string_view key, std::string_view value)>& visit) const {
  return walk_from(snapshot, family, {}, visit);
}

Result<void> Database::walk_from(const Snapshot& snapshot, Family family, std::string_view from,
                                 const std::function<bool(std::string_view key, std::string_view value)>& visit) const {
  Cursor cursor(*this, snapshot, family, from);
  for (; cursor.has_entry(); cursor.next())
    if (!visit(cursor.key(), cursor.value())) return {};
  return cursor.status();
}

struct Database::Cursor::State {
  const DatabaseState& database;
  std::unique_ptr<rocksdb::Iterator> iterator;  // null: the database has no such family
};

Database::Cursor::Cursor(const Database& database, const Snapshot& snapshot, Family family, std::string_view from)
    : state_(std::make_unique<State>(State{*database.state_, nullptr})) {
  rocksdb::ColumnFamilyHandle* const handle = database.state_->handle(family);
  if (handle == nullptr) return;
  rocksdb::ReadOptions options;
  options.snapshot = snapshot.get();
  options.verify_checksums = true;
  options.fill_cache = false;
  state_->iterator.reset(database.state_->db->NewIterator(options, handle));
  state_->iterator->Seek(slice_of(from));
}

Database::Cursor::~Cursor() = default;
Database::Cursor::Cursor(Cursor&&) noexcept = default;
Database::Cursor& Database::Cursor::operator=(Cursor&&) noexcept = default;

bool Database::Cursor::has_entry() const {
  return state_->iterator != nullptr && state_->iterator->Valid();
}
std::string_view Database::Cursor::key() const {
  return view(state_->iterator->key());
}
std::string_view Database::Cursor::value() const {
  return view(state_->iterator->value());
}
void Database::Cursor::next() {
  state_->iterator->Next();
}
Result<void> Database::Cursor::status() const {
  return state_->iterator == nullptr ? Result<void>() : state_->database.result_of(state_->iterator->status());
}

Result<void> Database::verify_tables() const {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  // RocksDB 7.8 opens each table once more for this, and warns that it does so without the unique id that it wants.
  const LogLevel quiet(*state_->db->GetDBOptions().info_log, rocksdb::ERROR_LEVEL);
  return state_->result_of(without_exceptions([&] { return state_->db->VerifyChecksum(options); }));
}

Result<double> Database::tombstone_share(Family family) const {
  rocksdb::ColumnFamilyHandle* const handle = state_->handle(family);
  rocksdb::TablePropertiesCollection tables;
  DEDUPFS_TRY(state_->result_of(state_->db->GetPropertiesOfAllTables(handle, &tables)));
  std::uint64_t entries = 0;
  std::uint64_t traces = 0;
  for (const auto& [name, properties] : tables) {
    entries += properties->num_entries;
    traces += properties->num_deletions;
  }
  const auto in_memory = [&](const std::string& property) {
    std::uint64_t value = 0;
    state_->db->GetIntProperty(handle, property, &value);
    return value;
  };
  using Properties = rocksdb::DB::Properties;
  entries += in_memory(Properties::kNumEntriesActiveMemTable) + in_memory(Properties::kNumEntriesImmMemTables);
  traces += in_memory(Properties::kNumDeletesActiveMemTable) + in_memory(Properties::kNumDeletesImmMemTables);
  return entries == 0 ? 0.0 : static_cast<double>(traces) / static_cast<double>(entries);
}

Result<void> Database::compact(Family family, const std::function<Result<void>()>& check_cancelled) {
  constexpr std::chrono::milliseconds kLookInterval{50};
  std::atomic<bool> canceled = false;
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  options.canceled = &canceled;
  auto compaction = std::async(std::launch::async, [&] {
    return state_->watch->watch([&] {
      const auto compact = [&](rocksdb::ColumnFamilyHandle* handle) {
        return compact_whole_family(*state_->db, options, handle);
      };
      const rocksdb::Status status = compact(state_->handle(family));
      // The marks of empty_log() in RocksDB's own family are as small, and go with them.
      return status.ok() && family == Family::kCounters ? compact(state_->unused_family()) : status;
    });
  });
  Result<void> wanted;
  for (auto wait = std::chrono::milliseconds(0); compaction.wait_for(wait) != std::future_status::ready;
       wait = kLookInterval) {
    if (!wanted) continue;
    wanted = check_cancelled();
    canceled = !wanted;
  }
  const rocksdb::Status status = compaction.get();
  return wanted ? state_->result_of(status) : wanted;
}

void Database::forget_features_before(std::uint64_t oldest_chunk) {
  state_->feature_filter->oldest_id.store(oldest_chunk, std::memory_order_relaxed);
}

std::array<std::uint64_t, kFamilyCount> Database::table_bytes() const {
  std::array<std::uint64_t, kFamilyCount> bytes{};
  for (std::size_t i = 0; i < kFamilyCount; ++i) {
    if (state_->handles[i] == nullptr) continue;
    rocksdb::ColumnFamilyMetaData tables;
    state_->db->GetColumnFamilyMetaData(state_->handles[i], &tables);
    bytes[i] = tables.size;
  }
  return bytes;
}

std::vector<std::string> Database::table_names(Family family) const {
  if (state_->handle(family) == nullptr) return {};
  std::vector<std::string> names;
  for (const auto& [name, table] : tables_of(*state_->db, state_->handle(family))) names.push_back(name);
  return names;
}

// RocksDB's own estimate is 0 where it is open read-only, until something has read the tables.
std::uint64_t Database::estimated_entries(Family family) const {
  rocksdb::ColumnFamilyHandle* const handle = state_->handle(family);
  if (handle == nullptr) return 0;
  std::uint64_t entries = 0;
  state_->db->GetIntProperty(handle, rocksdb::DB::Properties::kEstimateNumKeys, &entries);
  if (entries != 0) return entries;
  rocksdb::TablePropertiesCollection tables;
  if (!state_->result_of(state_->db->GetPropertiesOfAllTables(handle, &tables))) return 0;
  for (const auto& [name, properties] : tables)
    entries += properties->num_entries - std::min(properties->num_entries, 2 * properties->num_deletions);
  return entries;
}

Database::FilterMemory Database::filter_memory() const {
  std::uint64_t keys = 0;
  for (std::size_t i = 0; i < kFamilyCount; ++i) {
    std::uint64_t of_family = 0;
    if (state_->handles[i] == nullptr || !is_filtered(static_cast<Family>(i))) continue;
    state_->db->GetIntProperty(state_->handles[i], rocksdb::DB::Properties::kEstimateNumKeys, &of_family);
    keys += of_family;
  }
  return filter_memory_of(keys, state_->memory->GetCapacity());
}

Database::FilterMemory Database::filter_memory_of(std::uint64_t keys, std::uint64_t memory_bytes) {
  constexpr std::uint64_t kRounded = 64 << 20;
  FilterMemory memory{.filter_bytes = keys / 8 * kFilterBytesOf8Keys, .memory_bytes = memory_bytes, .wanted_bytes = 0};
  // Write buffers may take a quarter (database_options.cc).
  if (memory.filter_bytes > memory_bytes / 4 * 3)
    memory.wanted_bytes = (memory.filter_bytes / 3 * 5 + kRounded - 1) / kRounded * kRounded;
  return memory;
}

std::uint64_t Database::memory_used_bytes() const {
  return state_->memory->GetUsage();
}

}  // namespace dedupfs
