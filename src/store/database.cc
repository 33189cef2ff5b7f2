#include "store/database.h"

#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/metadata.h>
#include <rocksdb/snapshot.h>
#include <rocksdb/transaction_log.h>
#include <rocksdb/write_batch.h>
#include <spdlog/spdlog.h>

#include <mutex>

#include "base/check.h"
#include "base/crash_point.h"
#include "store/database_options.h"

namespace dedupfs {
namespace {

rocksdb::Slice slice(std::string_view text) {
  return {text.data(), text.size()};
}
std::string_view view(const rocksdb::Slice& text) {
  return {text.data(), text.size()};
}

Result<bool> holds_database(Backing& backing, const Path& path) {
  return backing.exists(path / "CURRENT");
}

Result<bool> log_holds_something(Backing& backing, const Path& path) {
  DEDUPFS_ASSIGN(const std::vector<std::string> names, backing.list_directory(path));
  for (const std::string& name : names) {
    if (!name.ends_with(".log")) continue;
    DEDUPFS_ASSIGN(const auto log, backing.open(path / name, Backing::Mode::kRead));
    DEDUPFS_ASSIGN(const std::uint64_t size, log->size());
    if (size != 0) return true;
  }
  return false;
}

std::vector<rocksdb::ColumnFamilyDescriptor> descriptors_of(const DatabaseOptions& options,
                                                            std::size_t count = kFamilyCount) {
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (std::size_t i = 0; i < count; ++i)
    families.emplace_back(std::string(name_of(static_cast<Family>(i))), options.families[i]);
  return families;
}

// What RocksDB says for as long as it lives.
class LogLevel {
 public:
  LogLevel(rocksdb::Logger& log, rocksdb::InfoLogLevel level) : log_(log), before_(log.GetInfoLogLevel()) {
    log_.SetInfoLogLevel(level);
  }
  LogLevel(const LogLevel&) = delete;
  LogLevel& operator=(const LogLevel&) = delete;
  ~LogLevel() { log_.SetInfoLogLevel(before_); }

 private:
  rocksdb::Logger& log_;
  const rocksdb::InfoLogLevel before_;
};

// An iterator and the slices that bound it, which it only points to. Without a family it finds nothing.
class BoundedIterator {
 public:
  BoundedIterator(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family, std::string_view from, std::string_view end)
      : from_(slice(from)), end_(slice(end)) {
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

}  // namespace

std::string_view name_of(Family family) {
  switch (family) {
    case Family::kFingerprints: return "fingerprints";
    case Family::kChunks: return "chunks";
    case Family::kFeatureIndex: return "features";
    case Family::kInodes: return "inodes";
    case Family::kDirents: return "dirents";
    case Family::kCookies: return "cookies";
    case Family::kXattrs: return "xattrs";
    case Family::kRecipes: return "recipes";
    case Family::kOrphans: return "orphans";
    case Family::kCounters: return "counters";
    case Family::kSnapshots: return "snapshots";
    case Family::kBeforeImages: return "before_images";
  }
  return "unknown";
}

constexpr std::uint64_t kLargestLogBytes = 64 << 20;  // bounds the replay after a crash

// An open RocksDB; also half open, on the way to an error.
struct Database::State {
  State(const Path& at, std::shared_ptr<Backing> its_backing) : path(at.string()), backing(std::move(its_backing)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  Result<void> create(const DatabaseOptions& options);
  Result<void> open(const DatabaseOptions& options);
  rocksdb::Status open_families(const DatabaseOptions& options, std::size_t count);
  bool open_if_flawless(DatabaseOptions options);
  rocksdb::Status put_mark();
  rocksdb::Status empty_log();
  rocksdb::Status write(rocksdb::WriteBatch& changes);
  Result<void> check_room_to_resume() const;
  Result<void> resume();
  Result<std::uint64_t> changes_behind_damage() const;
  Result<void> refuse_damaged_log() const;
  Result<std::uint64_t> last_change_in_log(rocksdb::WALRecoveryMode mode) const;

  Error error_of(const rocksdb::Status& status) const;
  Result<void> result_of(const rocksdb::Status& status) const;
  rocksdb::ColumnFamilyHandle* handle(Family family) const { return handles[static_cast<std::size_t>(family)]; }
  rocksdb::ColumnFamilyHandle* unused_family() const { return handles.back(); }
  BoundedIterator iterate(Family family, std::string_view from, std::string_view end) const {
    return {*db, handle(family), from, end};
  }

  const std::string path;
  const std::shared_ptr<Backing> backing;
  std::shared_ptr<rocksdb::Env> env;  // RocksDB only points to it
  bool read_only = false;
  std::shared_ptr<LostAppends> lost_appends;
  std::shared_ptr<rocksdb::Cache> memory;
  std::shared_ptr<FeatureFilter> feature_filter;
  std::unique_ptr<rocksdb::DB> db;
  // In order of Family, then RocksDB's default family, which holds no data of ours. Null: an old volume that is only read has
  // no such family.
  std::vector<rocksdb::ColumnFamilyHandle*> handles;

  // Of write(), and all that follow.
  std::mutex write_mutex;
  std::uint64_t log_bytes = 0;  // about what a crash now would have to replay
  bool is_stopped = false;      // by a failure
};

Error Database::State::error_of(const rocksdb::Status& status) const {
  const ErrorCode code = status.IsCorruption()    ? ErrorCode::kCorruption
                         : status.IsNoSpace()     ? ErrorCode::kNoSpace
                         : status.IsMemoryLimit() ? ErrorCode::kNoMemory
                         : status.IsBusy()        ? ErrorCode::kBusy
                                                  : ErrorCode::kIo;
  return {code, "index " + path + ": " + status.ToString()};
}

Result<void> Database::State::result_of(const rocksdb::Status& status) const {
  if (!status.ok()) return error_of(status);
  return {};
}

Result<void> Database::State::create(const DatabaseOptions& options) {
  env = options.env;
  rocksdb::DB* opened = nullptr;
  DEDUPFS_TRY(result_of(rocksdb::DB::Open(rocksdb::Options(options.database, {}), path, &opened)));
  db.reset(opened);
  return result_of(db->CreateColumnFamilies(descriptors_of(options), &handles));
}

Result<void> Database::State::open(const DatabaseOptions& options) {
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

rocksdb::Status Database::State::open_families(const DatabaseOptions& options, std::size_t count) {
  auto families = descriptors_of(options, count);
  families.emplace_back(rocksdb::kDefaultColumnFamilyName, families.back().options);  // under the same cap of memory
  rocksdb::DB* opened = nullptr;
  auto status = read_only ? rocksdb::DB::OpenForReadOnly(options.database, path, families, &handles, &opened)
                          : rocksdb::DB::Open(options.database, path, families, &handles, &opened);
  if (!status.ok()) return status;
  db.reset(opened);
  handles.insert(handles.end() - 1, kFamilyCount - count, nullptr);
  return status;
}

// A log without any flaw, which is what kill -9 leaves, takes one replay: looking for damage first takes two more, which is
// most of the time of a mount after a crash. An attempt that fails leaves no more than a table that nobody knows, which
// the next opening removes.
bool Database::State::open_if_flawless(DatabaseOptions options) {
  const LogLevel quiet(*options.database.info_log,
                       rocksdb::FATAL_LEVEL);  // the opening that follows says what is wrong
  options.database.wal_recovery_mode = rocksdb::WALRecoveryMode::kAbsoluteConsistency;
  return open(options).has_value();
}

Database::State::~State() {
  if (db == nullptr) return;
  if (!read_only && handles.size() > kFamilyCount) {
    if (const rocksdb::Status status = empty_log(); !status.ok())
      spdlog::warn("{}; its log will be replayed when it is opened next", error_of(status).message());
    crash_point("unmount.index-flushed");
  }
  for (rocksdb::ColumnFamilyHandle* handle : handles)
    if (handle != nullptr) db->DestroyColumnFamilyHandle(handle);
  if (const rocksdb::Status status = db->Close(); !status.ok()) spdlog::error("{}", error_of(status).message());
}

// Turns what is in memory into tables: the next opening replays nothing.
rocksdb::Status Database::State::empty_log() {
  // Without a flush RocksDB keeps the log of each session, also if it is empty.
  if (auto status = put_mark(); !status.ok()) return status;
  return db->Flush({}, handles);
}

// A change that needs no log, in the family that nobody uses: there is something to flush then.
rocksdb::Status Database::State::put_mark() {
  std::uint64_t marks = 0;
  db->GetIntProperty(unused_family(), rocksdb::DB::Properties::kNumEntriesActiveMemTable, &marks);
  if (marks != 0) return {};
  rocksdb::WriteOptions unlogged;
  unlogged.disableWAL = true;
  return db->Put(unlogged, unused_family(), "mark", "");
}

// Why a full disk takes all this care: the log has ended then, and takes nothing more (LogFile in backing_files.cc). Resume() begins
// a new log, but only if there is something to flush (otherwise it says that all is well, and keeps the old log); hence the
// mark before each write.
// RocksDB must not flush the mark and everything else inside of the same Write(), so it is not given a limit for the log;
// this function keeps that itself.
rocksdb::Status Database::State::write(rocksdb::WriteBatch& changes) {
  if (auto status = put_mark(); !status.ok()) return status;
  rocksdb::WriteOptions synced;
  synced.sync = true;
  const std::uint64_t lost = *lost_appends;
  if (auto status = db->Write(synced, &changes); !status.ok()) return status;
  if (*lost_appends != lost)
    return rocksdb::Status::IOError("the disk was full and no new log was begun; mount the volume again");

  log_bytes += changes.GetDataSize();
  if (log_bytes >= kLargestLogBytes) {
    log_bytes = 0;
    rocksdb::FlushOptions in_background;
    in_background.wait = false;
    // What was written is durable: a failure concerns the next write, and comes back there.
    db->Flush(in_background, handles).PermitUncheckedError();
  }
  return {};
}

// Resume() flushes what is in memory. One that found the disk full again was seen to wait for ever (RocksDB 7.8), so it is
// not tried before there is room.
Result<void> Database::State::check_room_to_resume() const {
  constexpr std::uint64_t kForManifestAndNewLog = 128 << 10;
  const std::uint64_t needed = log_bytes + log_bytes / 4 + kForManifestAndNewLog;
  DEDUPFS_ASSIGN(const auto space, backing->space(path));
  if (space.available_bytes >= needed) return {};
  return Error{ErrorCode::kNoSpace,
               "index " + path + ": the disk is full, " + std::to_string(needed) + " bytes are needed to go on"};
}

// After a failure RocksDB refuses every write until Resume(), which refuses in turn if the failure was one that may
// have lost what had been taken for written.
Result<void> Database::State::resume() {
  DEDUPFS_TRY(check_room_to_resume());
  rocksdb::Status status = db->Resume();
  if (status.IsNoSpace()) {  // the news of a compaction that had begun while the disk was full
    DEDUPFS_TRY(check_room_to_resume());
    status = db->Resume();
  }
  DEDUPFS_TRY(result_of(status));
  is_stopped = false;
  return {};
}

// The number of the last change that a replay of the log reaches. Writes nothing.
Result<std::uint64_t> Database::State::last_change_in_log(rocksdb::WALRecoveryMode mode) const {
  DatabaseOptions options = make_database_options(kLeastMemoryBytes, backing);
  options.database.wal_recovery_mode = mode;
  options.database.info_log->SetInfoLogLevel(rocksdb::FATAL_LEVEL);  // the opening that follows says it all again
  State replay(path, backing);
  replay.read_only = true;
  DEDUPFS_TRY(replay.open(options));
  return replay.db->GetLatestSequenceNumber();
}

// A replay ends at the first bad record of the log. If whole records follow it, that record is not the torn end of the
// log but damage to what had been synced, and opening for writing would drop all that follows, silently and for good.
Result<std::uint64_t> Database::State::changes_behind_damage() const {
  DEDUPFS_ASSIGN(const bool anything, log_holds_something(*backing, path));
  if (!anything) return 0;  // closed properly
  DEDUPFS_ASSIGN(const auto reached, last_change_in_log(rocksdb::WALRecoveryMode::kPointInTimeRecovery));
  DEDUPFS_ASSIGN(const auto last, last_change_in_log(rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords));
  return last <= reached ? 0 : last - reached;
}

Result<void> Database::State::refuse_damaged_log() const {
  DEDUPFS_ASSIGN(const std::uint64_t lost, changes_behind_damage());
  if (lost == 0) return {};
  return Error{
      ErrorCode::kCorruption,
      "index " + path + ": its log is damaged before its end, and writing would lose the " + std::to_string(lost) +
          " changes behind the damage for good; open it read-only to copy what was committed before the damage, or let "
          "fsck.dedupfs -y go back to that state"};
}

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}
Database::~Database() = default;

Result<void> Database::create(const Path& path, const std::shared_ptr<Backing>& backing) {
  DEDUPFS_ASSIGN(const bool is_there, holds_database(*backing, path));
  if (is_there) return Error{ErrorCode::kExists, "index " + path.string() + " exists already"};
  DatabaseOptions options = make_database_options(kLeastMemoryBytes, backing);
  options.database.create_if_missing = true;
  options.database.error_if_exists = true;
  DEDUPFS_ASSIGN(const Backing::Type type, backing->type(path));
  if (type != Backing::Type::kDirectory) DEDUPFS_TRY(backing->make_directory(path));
  return State(path, backing).create(options);
}

Result<std::unique_ptr<Database>> Database::open(const Path& path, const Settings& settings,
                                                 const std::shared_ptr<Backing>& backing) {
  DEDUPFS_ASSIGN(const bool is_there, holds_database(*backing, path));
  if (!is_there) return Error{ErrorCode::kNotFound, "index " + path.string() + " is missing"};
  auto state = std::make_unique<State>(path, backing);
  state->read_only = settings.read_only;
  if (!settings.read_only) {
    if (state->open_if_flawless(make_database_options(settings.memory_bytes, backing)))
      return std::unique_ptr<Database>(new Database(std::move(state)));
    DEDUPFS_TRY(state->refuse_damaged_log());
  }
  DatabaseOptions options = make_database_options(settings.memory_bytes, backing);
  if (settings.damaged) {
    options.database.paranoid_checks = false;
    options.database.track_and_verify_wals_in_manifest = false;
    if (state->open(options)) return std::unique_ptr<Database>(new Database(std::move(state)));
    // Tables hold what was written behind the damage in the log.
    options.database.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
    state = std::make_unique<State>(path, backing);
    state->read_only = true;
  }
  DEDUPFS_TRY(state->open(options));
  return std::unique_ptr<Database>(new Database(std::move(state)));
}

Result<std::uint64_t> Database::changes_behind_damage(const Path& path, const std::shared_ptr<Backing>& backing) {
  return State(path, backing).changes_behind_damage();
}

Result<std::optional<std::string>> Database::get(Family family, std::string_view key) const {
  std::string value;
  if (state_->handle(family) == nullptr) return std::nullopt;
  const rocksdb::Status status = state_->db->Get({}, state_->handle(family), slice(key), &value);
  if (status.IsNotFound()) return std::nullopt;
  DEDUPFS_TRY(state_->result_of(status));
  return value;
}

Result<std::optional<KeyValue>> Database::find_before(Family family, std::string_view key,
                                                      std::string_view from) const {
  if (key.empty()) return std::nullopt;
  BoundedIterator iterator = state_->iterate(family, from, {});
  iterator->SeekForPrev(slice(key));
  if (iterator->Valid() && view(iterator->key()) == key) iterator->Prev();
  if (iterator->Valid()) return iterator.entry();
  DEDUPFS_TRY(state_->result_of(iterator->status()));
  return std::nullopt;
}

Result<std::optional<KeyValue>> Database::find_at_or_before(Family family, std::string_view key,
                                                            std::string_view from) const {
  BoundedIterator iterator = state_->iterate(family, from, {});
  iterator->SeekForPrev(slice(key));
  if (iterator->Valid()) return iterator.entry();
  DEDUPFS_TRY(state_->result_of(iterator->status()));
  return std::nullopt;
}

Result<std::vector<KeyValue>> Database::list(Family family, std::string_view from, std::string_view end,
                                             std::size_t limit) const {
  std::vector<KeyValue> entries;
  if (limit == 0 || (!end.empty() && from >= end)) return entries;
  BoundedIterator iterator = state_->iterate(family, from, end);
  for (iterator->Seek(slice(from)); iterator->Valid() && entries.size() < limit; iterator->Next())
    entries.push_back(iterator.entry());
  DEDUPFS_TRY(state_->result_of(iterator->status()));
  return entries;
}

struct Database::Batch::State {
  explicit State(const Database::State& of) : database(of) {}

  const Database::State& database;
  rocksdb::WriteBatch changes;
};

Database::Batch::Batch(const Database& database) : state_(std::make_unique<State>(*database.state_)) {}
Database::Batch::~Batch() = default;
Database::Batch::Batch(Batch&&) noexcept = default;
Database::Batch& Database::Batch::operator=(Batch&&) noexcept = default;

void Database::Batch::put(Family family, std::string_view key, std::string_view value) {
  DEDUPFS_CHECK(state_->changes.Put(state_->database.handle(family), slice(key), slice(value)).ok());
}

void Database::Batch::erase(Family family, std::string_view key) {
  DEDUPFS_CHECK(state_->changes.Delete(state_->database.handle(family), slice(key)).ok());
}

bool Database::Batch::empty() const {
  return state_->changes.Count() == 0;
}
std::size_t Database::Batch::size_bytes() const {
  return state_->changes.GetDataSize();
}

Result<void> Database::write(const Batch& batch) {
  if (state_->read_only) return Error{ErrorCode::kReadOnly, "index " + state_->path + " is open read-only"};
  DEDUPFS_CHECK(&batch.state_->database == state_.get());
  const std::lock_guard lock(state_->write_mutex);
  for (int tries_left = 3;;) {
    if (state_->is_stopped) DEDUPFS_TRY(state_->resume());
    const rocksdb::Status status = state_->write(batch.state_->changes);
    if (status.ok()) return {};
    state_->is_stopped = true;
    // It may be the news of an earlier failure in the background, of a flush or a compaction, and the disk have space by now.
    if (--tries_left == 0 || !status.IsNoSpace()) return state_->error_of(status);
  }
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
  if (state_->handle(family) == nullptr) return {};
  rocksdb::ReadOptions options;
  options.snapshot = snapshot.get();
  options.verify_checksums = true;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> iterator(state_->db->NewIterator(options, state_->handle(family)));
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next())
    if (!visit(view(iterator->key()), view(iterator->value()))) return {};
  return state_->result_of(iterator->status());
}

Result<void> Database::verify_tables() const {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  // RocksDB 7.8 opens each table once more for this, and warns that it does so without the unique id that it wants.
  const LogLevel quiet(*state_->db->GetDBOptions().info_log, rocksdb::ERROR_LEVEL);
  return state_->result_of(state_->db->VerifyChecksum(options));
}

Result<void> Database::compact(Family family) {
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  return state_->result_of(state_->db->CompactRange(options, state_->handle(family), nullptr, nullptr));
}

void Database::forget_features_before(ChunkId oldest) {
  state_->feature_filter->oldest_id.store(number_of(oldest), std::memory_order_relaxed);
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

std::uint64_t Database::memory_used_bytes() const {
  return state_->memory->GetUsage();
}

}  // namespace dedupfs
