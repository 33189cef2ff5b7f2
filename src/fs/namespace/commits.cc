// Transaction groups: what has to be stored before one ends, its end, and what happens when that fails.
#include <spdlog/spdlog.h>

#include <condition_variable>

#include "base/crash_point.h"
#include "base/guarded.h"
#include "base/memory_reserve.h"
#include "fs/background/idle_memory.h"
#include "fs/namespace/filesystem.h"
#include "fs/namespace/filesystem_state.h"

namespace dedupfs {
namespace {

// Groups together take no more than so many times group_bytes: operations wait for a commit otherwise.
constexpr std::uint64_t kMaxGroups = 4;
// While a group is committed, its changes are there once more in the batch that is written.
constexpr std::uint64_t kCopiesOfAFrozenGroup = 2;
constexpr std::uint64_t kChangesBetweenLooks = 64;

// Runs the tasks on the pool and waits for them.
void run_all(ThreadPool& pool, const std::vector<ThreadPool::Task>& tasks) {
  std::mutex mutex;
  std::condition_variable finished;
  std::size_t left = tasks.size();
  for (const ThreadPool::Task& task : tasks) {
    const auto run = [&] {
      survive("storing a file", task);
      const std::lock_guard lock(mutex);
      if (--left == 0) finished.notify_one();
    };
    if (!survive("storing files side by side", [&] { pool.submit(run); })) run();
  }
  std::unique_lock lock(mutex);
  finished.wait(lock, [&] { return left == 0; });
}

}  // namespace

Result<void> FilesystemState::check_writable() const {
  if (volume->read_only()) return Error{ErrorCode::kReadOnly, "the volume is open read-only"};
  if (aborted) return Error{ErrorCode::kReadOnly, "the volume is read-only since a commit failed"};
  return {};
}

Result<void> FilesystemState::check_writable(InodeNumber node) const {
  if (tree_of(node) != kLiveTree || node == kSnapshotsInode)
    return Error{ErrorCode::kReadOnly, "snapshots are read-only"};
  if (!memory_reserve_is_whole()) return Error{ErrorCode::kNoMemory, "memory has run out"};
  return check_writable();
}

std::optional<Error> FilesystemState::abort_reason() const {
  const std::lock_guard lock(errors_mutex);
  if (aborted && !abort_error) return Error{ErrorCode::kNoMemory, "a commit failed"};
  return abort_error;
}

Result<void> FilesystemState::check_not_aborted() const {
  if (const std::optional<Error> reason = abort_reason()) return Error{ErrorCode::kIo, reason->message()};
  return {};
}

std::uint64_t FilesystemState::open_group_bytes() const {
  return metadata.open_bytes() + volume->chunks().open_bytes();
}

// The open group becomes the frozen one: what it may take is bounded by half of the cap.
void FilesystemState::throttle() {
  if (++changes % kChangesBetweenLooks != 0) return;
  const std::uint64_t open = open_group_bytes();
  const std::uint64_t most = kMaxGroups * options.group_bytes;
  if (open > most / kCopiesOfAFrozenGroup || open + kCopiesOfAFrozenGroup * frozen_bytes > most) {
    (void)committer->commit();  // whether it failed shows in the commits of those who need to know
  } else if (open > options.group_bytes) {
    committer->request_commit();
  }
}

bool FilesystemState::has_changes() const {
  return !metadata.open_is_empty() || volume->chunks().has_changes() || table.has_dirty() || metadata.has_frozen() ||
         commit_hook.is_wanted();
}

std::uint64_t FilesystemState::pending_bytes() const {
  // What a commit changes may have to be kept for a snapshot, too.
  const std::size_t copies = volume->snapshots().preservation() ? 2 : 1;
  return budget.used_bytes() + volume->chunks().waiting_bytes() + copies * metadata.open_bytes() +
         volume->chunks().open_bytes();
}

Result<void> FilesystemState::sync(std::chrono::milliseconds patience) {
  if (volume->read_only()) return {};
  DEDUPFS_TRY(check_not_aborted());
  return committer->commit(patience);
}

Result<void> Filesystem::sync() {
  DEDUPFS_TRY(state_->sync());
  const std::lock_guard lock(state_->errors_mutex);
  if (state_->flush_error) return *state_->flush_error;
  return {};
}

Result<void> Filesystem::sync_file(InodeNumber number) {
  DEDUPFS_TRY(state_->sync());
  return flush_file(number);
}

Result<void> FilesystemState::flush(Inode& inode) {
  std::shared_ptr<FileContent> content;
  {
    const std::lock_guard lock(inode.mutex);
    content = inode.content;
  }
  if (content == nullptr) return {};
  Result<void> flushed;
  if (inode.unlinked && content->dirty()) flushed = content->truncate(0);
  if (flushed) flushed = content->flush();
  const std::lock_guard lock(inode.mutex);
  if (flushed) {
    inode.write_error.reset();  // a later attempt stored everything
  } else if (!inode.write_error) {
    inode.write_error = flushed.error();
    spdlog::error("inode {} ('{}'): {}", inode.number, inode.last_name, flushed.error().message());
  }
  return flushed;
}

void FilesystemState::flush_in_background(const InodePtr& inode) {
  flushers->submit([this, inode] {
    // While a group ends, the committer does it itself, and must not find half a flush of ours in the group.
    const std::shared_lock lock(flush_mutex, std::try_to_lock);
    if (lock.owns_lock() && !aborted) (void)flush(*inode);  // the error waits in the inode
  });
}

void FilesystemState::flush_all() {
  std::mutex mutex;
  std::optional<Error> first_error;
  std::vector<ThreadPool::Task> tasks;
  for (const InodePtr& inode : table.dirty()) {
    tasks.emplace_back([&, inode] {
      Result<void> flushed = guarded([&] { return flush(*inode); });
      const std::lock_guard lock(mutex);
      if (!flushed && !first_error) first_error.emplace(std::move(flushed).error());
    });
  }
  run_all(*flushers, tasks);
  const std::lock_guard lock(errors_mutex);
  flush_error = first_error;
  flush_fails = first_error.has_value();
}

// Without what found no room on the disk, or in memory, the group would be no state that existed, and there will be room again:
// it ends then.
std::optional<Error> FilesystemState::flush_obstacle() const {
  const std::lock_guard lock(errors_mutex);
  const bool passes =
      flush_error && (flush_error->code() == ErrorCode::kNoSpace || flush_error->code() == ErrorCode::kNoMemory);
  return passes ? flush_error : std::nullopt;
}

// Nothing is half done: the record becomes what the recipe says, and what is clean leaves the set.
void FilesystemState::settle(const InodePtr& inode) {
  const std::lock_guard lock(inode->mutex);
  put_record(*inode);
  if (inode->content != nullptr && inode->content->dirty()) return;  // storing it failed; it is tried again
  table.clear_dirty(inode);
  if (!table.is_open(inode->number)) inode->content.reset();
}

Result<void> FilesystemState::commit_group() {
  return guarded([this]() -> Result<void> {
    if (const std::optional<Error> reason = abort_reason()) return *reason;
    if (metadata.has_frozen()) DEDUPFS_TRY(commit_volume());  // what an earlier commit could not do
    DEDUPFS_TRY(end_group());
    return commit_volume();
  });
}

// Memory that runs out in here leaves the group open, and a later attempt ends it.
Result<void> FilesystemState::end_group() {
  {
    const QuiesceGate::Closure closure(gate);
    const std::unique_lock lock(flush_mutex);
    flush_all();  // a file that cannot be stored stays dirty and has its error; the rest is not held up by it
    if (const auto reason = abort_reason()) return *reason;  // an operation that the gate waited for ended halfway
    if (const auto obstacle = flush_obstacle()) return *obstacle;
    for (const InodePtr& inode : table.dirty()) settle(inode);
    try {
      commit_hook.run([this] {
        numbers->save(closed);
        const std::uint64_t bytes = open_group_bytes();
        volume->freeze();
        frozen_bytes = bytes;
      });
    } catch (const std::exception&) {
      if (commit_hook.is_wanted()) abort({ErrorCode::kNoMemory, "memory ran out in the middle of a change"});
      throw;
    }
    crash_point("commit.frozen");
  }
  return {};
}

Result<void> FilesystemState::commit_volume() {
  Result<void> committed = volume->commit();
  if (committed) frozen_bytes = 0;
  give_back_idle_memory_now_and_then();
  if (committed && committer && !snapshot_reaper->is_done()) committer->request_background_step();
  if (committed && changes != 0) checkpointer->note_commit();  // each mount commits what users have not changed
  if (committed || failure_of(committed.error().code()) == CommitFailure::kMayBeRetried) return committed;
  abort(committed.error());
  return committed;
}

void FilesystemState::abort(const Error& reason) noexcept {
  aborted = true;
  survive("log", [&] { spdlog::critical("the filesystem is read-only from now on: {}", reason.message()); });
  survive("the reason why the filesystem is read-only", [&] {
    const std::lock_guard lock(errors_mutex);
    if (!abort_error) abort_error = reason;
  });
}

// On the committer's thread.
bool FilesystemState::background_step() {
  if (clean_up_is_paused) return false;
  bool is_more = orphan_reaper->step();
  const Result<bool> reaped = snapshot_reaper->step();
  if (!reaped) spdlog::error("what a deleted snapshot leaves could not be removed: {}", reaped.error().message());
  is_more = (reaped && *reaped) || is_more;
  if (metadata.open_bytes() > options.group_bytes || snapshot_reaper->awaits_commit()) committer->request_commit();
  return is_more;
}

}  // namespace dedupfs
