// Making and opening a database, and looking at its log before.
#include <spdlog/spdlog.h>

#include "base/crash_point.h"
#include "index/database.h"
#include "index/database_state.h"
#include "index/log_damage.h"

namespace dedupfs {
namespace {

Result<bool> holds_database(BackingFolder& folder) {
  return folder.exists("CURRENT");
}

std::vector<rocksdb::ColumnFamilyDescriptor> descriptors_of(const DatabaseOptions& options,
                                                            std::size_t count = kFamilyCount) {
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (std::size_t i = 0; i < count; ++i)
    families.emplace_back(std::string(name_of(static_cast<Family>(i))), options.families[i]);
  return families;
}

}  // namespace

Result<void> DatabaseState::create(const DatabaseOptions& options) {
  env = options.env;
  rocksdb::DB* opened = nullptr;
  DEDUPFS_TRY(result_of(rocksdb::DB::Open(rocksdb::Options(options.database, {}), path, &opened)));
  db.reset(opened);
  return result_of(db->CreateColumnFamilies(descriptors_of(options), &handles));
}

Result<void> DatabaseState::open(const DatabaseOptions& options) {
  env = options.env;
  lost_appends = options.lost_appends;
  memory = options.memory;
  feature_filter = options.feature_filter;
  rocksdb::Status status = open_families(options, kFamilyCount);
  if (read_only && status.IsInvalidArgument()) status = open_families(options, kFirstFamilyCount);
  if (status.IsInvalidArgument())  // its families are not ours
    return Error{ErrorCode::kCorruption, error_of(status).message()};
  return result_of(status);
}

rocksdb::Status DatabaseState::open_families(const DatabaseOptions& options, std::size_t count) {
  auto families = descriptors_of(options, count);
  families.emplace_back(rocksdb::kDefaultColumnFamilyName, families.back().options);  // under the same cap of memory
  rocksdb::DB* opened = nullptr;
  auto status = without_exceptions([&] {
    return read_only ? rocksdb::DB::OpenForReadOnly(options.database, path, families, &handles, &opened)
                     : rocksdb::DB::Open(options.database, path, families, &handles, &opened);
  });
  if (!status.ok()) return status;
  db.reset(opened);
  handles.insert(handles.end() - 1, kFamilyCount - count, nullptr);
  if (!read_only) watch = std::make_unique<DatabaseWatch>(*db, path, patience);
  return status;
}

DatabaseState::~DatabaseState() {
  if (db == nullptr) return;
  if (!read_only && handles.size() > kFamilyCount) {
    if (const rocksdb::Status status = empty_log(); !status.ok())
      spdlog::warn("{}; the next open will replay its log", error_of(status).message());
    crash_point("unmount.index-flushed");
  }
  watch.reset();
  for (rocksdb::ColumnFamilyHandle* handle : handles)
    if (handle != nullptr) db->DestroyColumnFamilyHandle(handle);
  if (const rocksdb::Status status = db->Close(); !status.ok()) spdlog::error("{}", error_of(status).message());
}

// A replay ends at the first bad record of the log. If whole records follow it, it is not the torn end of the log, but damage of
// synced records. Opening for writing would silently drop all later records for good.
Result<void> DatabaseState::refuse_damaged_log() const {
  DEDUPFS_ASSIGN(const std::uint64_t lost, changes_behind_damage(*folder));
  if (lost == 0) return {};
  return Error{
      ErrorCode::kCorruption,
      "index " + path + ": its log is damaged before its end, and writing would lose the " + std::to_string(lost) +
          " changes behind the damage for good; open it read-only to copy what was committed before the damage, or let "
          "fsck.dedupfs -y go back to that state"};
}

Result<void> Database::create(const std::shared_ptr<BackingFolder>& folder) {
  DEDUPFS_ASSIGN(const bool is_there, holds_database(*folder));
  if (is_there) return Error{ErrorCode::kExists, "index " + folder->path().string() + " exists already"};
  DatabaseOptions options = make_database_options(Database::kMinMemoryBytes, folder);
  options.database.create_if_missing = true;
  options.database.error_if_exists = true;
  return DatabaseState(folder).create(options);
}

Result<std::unique_ptr<Database>> Database::open(const std::shared_ptr<BackingFolder>& folder,
                                                 const Settings& settings) {
  DEDUPFS_ASSIGN(const bool is_there, holds_database(*folder));
  if (!is_there) return Error{ErrorCode::kNotFound, "index " + folder->path().string() + " is missing"};
  auto state = std::make_unique<DatabaseState>(folder);
  state->read_only = settings.read_only;
  state->patience = settings.patience;
  const std::uint64_t memory_bytes = std::max(settings.memory_bytes, kMinMemoryBytes);
  if (!settings.read_only) DEDUPFS_TRY(state->refuse_damaged_log());
  DatabaseOptions options = make_database_options(memory_bytes, folder);
  if (settings.damaged) {
    // Only if all tables are there. Without paranoid checks, RocksDB passes over damage in the log, and makes a state that never
    // existed.
    if (state->open(options)) return std::unique_ptr<Database>(new Database(std::move(state)));
    state = std::make_unique<DatabaseState>(folder);
    state->read_only = true;
    // The check of the logs stays: without it RocksDB 7.8 drops them from the manifest, which it cannot when it only reads.
    options.database.paranoid_checks = false;
    if (state->open(options)) return std::unique_ptr<Database>(new Database(std::move(state)));
    // Tables hold the records behind the damage in the log.
    options.database.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
    state = std::make_unique<DatabaseState>(folder);
    state->read_only = true;
  }
  DEDUPFS_TRY(state->open(options));
  return std::unique_ptr<Database>(new Database(std::move(state)));
}

Result<std::vector<Database::Table>> Database::tables(const std::shared_ptr<BackingFolder>& folder) {
  DEDUPFS_ASSIGN(const bool is_there, holds_database(*folder));
  if (!is_there) return std::vector<Table>();
  DatabaseOptions options = make_database_options(Database::kMinMemoryBytes, folder);
  options.database.paranoid_checks = false;
  options.database.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
  options.database.info_log->SetInfoLogLevel(rocksdb::FATAL_LEVEL);  // the open that follows says it all again
  DatabaseState state(folder);
  state.read_only = true;
  DEDUPFS_TRY(state.open(options));
  std::vector<rocksdb::LiveFileMetaData> files;
  state.db->GetLiveFilesMetaData(&files);
  std::vector<Table> tables;
  tables.reserve(files.size());
  for (const rocksdb::LiveFileMetaData& file : files)
    tables.push_back({.name = Path(file.name).filename().string(),
                      .first_key = file.smallestkey,
                      .last_key = file.largestkey,
                      .last_change = file.largest_seqno});
  return tables;
}

}  // namespace dedupfs
