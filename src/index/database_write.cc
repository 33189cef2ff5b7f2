// Writing to a database, also while the disk is full from time to time.
#include <algorithm>

#include "base/check.h"
#include "index/database.h"
#include "index/database_state.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kMaxLogBytes = 64 << 20;  // bounds the replay after a crash

// Checks that this number of bytes can be written now. The file is removed again. RocksDB removes it, too, when it looks for files that
// nobody needs: after a crash, and when files that were kept for a copy may go (kept_files.h).
Result<void> write_on_trial(BackingFolder& folder, std::uint64_t bytes) {
  constexpr std::size_t kPiece = 1 << 20;
  constexpr std::string_view kName = "000001.dbtmp";
  DEDUPFS_ASSIGN(const auto file, folder.open(kName, Backing::Mode::kOpenOrCreate));
  const ByteBuffer piece(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kPiece)));
  Result<void> written;
  for (std::uint64_t at = 0; written && at < bytes; at += kPiece)
    written =
        file->write(at, ByteSpan(piece).first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes - at, kPiece))));
  if (written) written = file->datasync();
  const Result<void> removed = folder.unlink(kName);
  const bool is_gone = removed || removed.error().code() == ErrorCode::kNotFound;
  return written && !is_gone ? removed : written;
}

}  // namespace

struct Database::Batch::State {
  explicit State(const DatabaseState& of) : database(of) {}

  const DatabaseState& database;
  rocksdb::WriteBatch changes;
};

Database::Batch::Batch(const Database& database) : state_(std::make_unique<State>(*database.state_)) {}
Database::Batch::~Batch() = default;
Database::Batch::Batch(Batch&&) noexcept = default;
Database::Batch& Database::Batch::operator=(Batch&&) noexcept = default;

void Database::Batch::put(Family family, std::string_view key, std::string_view value) {
  // In memory. RocksDB refuses 4 GiB and more: judge_table() lets no value of that size in, and nobody makes one.
  DEDUPFS_CHECK(state_->changes.Put(state_->database.handle(family), slice_of(key), slice_of(value)).ok());
}

void Database::Batch::erase(Family family, std::string_view key) {
  DEDUPFS_CHECK(state_->changes.Delete(state_->database.handle(family), slice_of(key)).ok());  // in memory
}

bool Database::Batch::empty() const {
  return state_->changes.Count() == 0;
}
std::size_t Database::Batch::size_bytes() const {
  return state_->changes.GetDataSize();
}

// Writes the memory tables to disk, so that the next open replays nothing.
rocksdb::Status DatabaseState::empty_log() {
  // Without a flush RocksDB keeps the log of each session, also if it is empty.
  if (auto status = put_mark(); !status.ok()) return status;
  return flush();
}

rocksdb::Status DatabaseState::flush() {
  return watch->watch([&] { return db->Flush({}, handles); });
}

// A change without log in the unused family: it makes sure that a flush has something to do.
rocksdb::Status DatabaseState::put_mark() {
  std::uint64_t marks = 0;
  db->GetIntProperty(unused_family(), rocksdb::DB::Properties::kNumEntriesActiveMemTable, &marks);
  if (marks != 0) return {};
  rocksdb::WriteOptions unlogged;
  unlogged.disableWAL = true;
  return db->Put(unlogged, unused_family(), "mark", "");
}

// RocksDB forgets a flush that it has decided on but not begun, if a write fails now: see database_watch.h. It decides at the
// beginning of a write, even of an empty one.
rocksdb::Status DatabaseState::wait_for_due_flushes() {
  rocksdb::WriteOptions unlogged;
  unlogged.disableWAL = true;
  rocksdb::FlushOptions and_wait;
  and_wait.allow_write_stall = true;  // no writer is affected
  constexpr int kRounds = 3;          // one flush may not free enough memory
  for (int round = 0; round < kRounds; ++round) {
    rocksdb::WriteBatch nothing;
    if (auto status = db->Write(unlogged, &nothing); !status.ok()) return status;
    std::vector<rocksdb::ColumnFamilyHandle*> due;
    for (rocksdb::ColumnFamilyHandle* family : handles) {
      std::uint64_t is_due = 0;
      if (db->GetIntProperty(family, rocksdb::DB::Properties::kMemTableFlushPending, &is_due) && is_due != 0)
        due.push_back(family);
    }
    if (due.empty()) return {};
    if (auto status = db->Flush(and_wait, due); !status.ok()) return status;
  }
  return {};
}

// A full disk ends the log: it takes no more records (LogFile in backing_files.cc). Resume() begins a new log, but only if there is
// something to flush. Otherwise it reports success and keeps the old log. So each write puts a mark first.
// RocksDB must not flush the mark inside of the same Write(). So RocksDB has no limit for the log: this function enforces it.
rocksdb::Status DatabaseState::write(rocksdb::WriteBatch& changes) {
  if (auto status = put_mark(); !status.ok()) return status;
  rocksdb::WriteOptions synced;
  synced.sync = true;
  if (auto status = wait_for_due_flushes(); !status.ok()) return status;
  const std::uint64_t lost = *lost_appends;
  if (auto status = db->Write(synced, &changes); !status.ok()) return status;
  if (*lost_appends != lost)
    return rocksdb::Status::IOError("the disk was full and no new log was begun; mount the volume again");

  log_bytes += changes.GetDataSize();
  if (log_bytes >= kMaxLogBytes) {
    log_bytes = 0;
    rocksdb::FlushOptions in_background;
    in_background.wait = false;
    // This write is durable already. A failure of the flush is reported to the next write.
    db->Flush(in_background, handles).PermitUncheckedError();
  }
  return {};
}

// Writes as many bytes on trial. With quotas and thin provisioning, the disk has less room than its filesystem reports.
Result<void> DatabaseState::check_room_to_flush() const {
  constexpr std::uint64_t kForManifestAndNewLog = 128 << 10;
  const std::uint64_t needed = log_bytes + log_bytes / 4 + kForManifestAndNewLog;
  DEDUPFS_ASSIGN(const auto space, folder->space());
  const Result<void> room = space.available_bytes < needed
                                ? Result<void>(Error{ErrorCode::kNoSpace, "the disk is full"})
                                : write_on_trial(*folder, needed);
  if (room) return {};
  return room.error().with("index " + path + ": " + std::to_string(needed) + " bytes must be free to continue");
}

// After a failure RocksDB refuses every write until Resume(). Resume() refuses if the failure may have lost written data.
// Resume() flushes the memory tables, so it waits until there is room.
Result<void> DatabaseState::resume() {
  DEDUPFS_TRY(check_room_to_flush());
  const auto try_it = [&] { return watch->watch([&] { return db->Resume(); }); };
  rocksdb::Status status = try_it();
  if (status.IsNoSpace()) {  // reported by a compaction that began while the disk was full
    DEDUPFS_TRY(check_room_to_flush());
    status = try_it();
  }
  DEDUPFS_TRY(result_of(status));
  is_stopped = false;
  return {};
}

Result<void> Database::write(const Batch& batch) {
  if (state_->read_only) return Error{ErrorCode::kReadOnly, "index " + state_->path + " is open read-only"};
  DEDUPFS_CHECK(&batch.state_->database == state_.get());  // the caller's batch
  const MutexLock lock(state_->write_mutex);
  for (int tries_left = 3;;) {
    if (state_->is_stopped) DEDUPFS_TRY(state_->resume());
    const rocksdb::Status status = state_->watch->watch([&] {
      state_->write_mutex.assert_held();
      return state_->write(batch.state_->changes);
    });
    if (status.ok()) return {};
    state_->is_stopped = true;
    // It may report an earlier failure of a flush or compaction. The disk may have space by now.
    if (--tries_left == 0 || !status.IsNoSpace()) return state_->error_of(status);
  }
}

Result<void> Database::empty_log() {
  {
    const MutexLock lock(state_->write_mutex);
    if (state_->is_stopped) DEDUPFS_TRY(state_->resume());
    DEDUPFS_TRY(state_->check_room_to_flush());
    DEDUPFS_TRY(state_->result_of(state_->put_mark()));
    state_->log_bytes = 0;
  }
  // Writes go on meanwhile. RocksDB reports a failure to the next write.
  return state_->result_of(state_->flush());
}

}  // namespace dedupfs
