#include "fs/inodes/inode_changes.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/mutex.h"
#include "fs/content/file_content.h"
#include "fs/inodes/inode_record.h"

namespace dedupfs {
namespace {

constexpr std::size_t kMaxStoringThreads = 8;
// To wake a thread costs as much as to store a small file.
constexpr std::size_t kSmallFilesAtOnce = 32;
constexpr std::uint64_t kSmallBytes = 64 << 10;

bool is_small(Inode& inode) {
  const MutexLock lock(inode.mutex);
  return inode.content != nullptr && inode.content->size() <= kSmallBytes;
}

// Runs the tasks on the pool and waits for them.
void run_all(ThreadPool& pool, const std::vector<ThreadPool::Task>& tasks) {
  Mutex mutex;
  ConditionVariable finished;
  std::size_t left = tasks.size();
  for (const ThreadPool::Task& task : tasks) {
    const auto run = [&] {
      survive("storing a file", task);
      const MutexLock lock(mutex);
      if (--left == 0) finished.notify_one();
    };
    if (!survive("storing files side by side", [&] { pool.submit(run); })) run();
  }
  const MutexLock lock(mutex);
  finished.wait(mutex, [&] { return left == 0; });
}

}  // namespace

InodeChanges::InodeChanges(Metadata& metadata, InodeTable& table, InodeNumbers& numbers, QuotaLedger& quotas,
                           DirtyBudget& budget, const Writability& writability, Shortcuts shortcuts)
    : metadata_(metadata),
      table_(table),
      numbers_(numbers),
      quotas_(quotas),
      budget_(budget),
      writability_(writability),
      small_files_at_once_(shortcuts.has(Shortcut::kSmallFiles) ? kSmallFilesAtOnce : 1),
      threads_(std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMaxStoringThreads), "dedupfs-flush") {}

Result<void> InodeChanges::store_content(Inode& inode) {
  std::shared_ptr<FileContent> content;
  {
    const MutexLock lock(inode.mutex);
    content = inode.content;
  }
  if (content == nullptr) return {};
  Result<void> flushed;
  if (inode.unlinked && content->dirty()) flushed = content->truncate(0);
  if (flushed) flushed = content->flush();
  const MutexLock lock(inode.mutex);
  if (flushed) {
    inode.write_error.reset();  // a later attempt stored everything
  } else if (!inode.write_error) {
    inode.write_error = flushed.error();
    spdlog::error("inode {} ('{}'): {}", inode.number, inode.last_name, flushed.error().message());
  }
  return flushed;
}

void InodeChanges::store_in_background(const InodePtr& inode) {
  const bool small = is_small(*inode);
  std::vector<InodePtr> inodes;
  {
    const MutexLock lock(small_mutex_);
    small_.push_back(inode);
    if (small && small_.size() < small_files_at_once_) return;
    inodes.swap(small_);
  }
  threads_.submit([this, inodes = std::move(inodes)] { store_soon(inodes); });
}

void InodeChanges::store_soon(const std::vector<InodePtr>& inodes) {
  for (const InodePtr& inode : inodes) {
    // While a group ends, the committer stores all content itself. Half of our work must not be in that group.
    if (!storing_mutex_.try_lock_shared()) return;
    const ReaderLock lock(storing_mutex_, std::adopt_lock);
    if (!writability_.is_aborted()) (void)store_content(*inode);  // the error waits in the inode
  }
}

void InodeChanges::store() {
  {
    std::vector<InodePtr> known;  // they are among the changed ones, and outlive the lock
    const MutexLock lock(small_mutex_);
    known.swap(small_);
  }
  Mutex mutex;
  std::optional<Error> first_error;
  std::vector<ThreadPool::Task> tasks;
  for (const InodePtr& inode : table_.dirty()) {
    tasks.emplace_back([&, inode] {
      Result<void> stored = guarded([&] { return store_content(*inode); });
      const MutexLock lock(mutex);
      if (!stored && !first_error) first_error.emplace(std::move(stored).error());
    });
  }
  run_all(threads_, tasks);
  const MutexLock lock(error_mutex_);
  error_ = first_error;
  storing_fails_ = first_error.has_value();
}

std::optional<Error> InodeChanges::store_error() const {
  const MutexLock lock(error_mutex_);
  return error_;
}

void InodeChanges::put_records() {
  for (const InodePtr& inode : table_.dirty()) settle(inode);
}

// No operation is half done here. The record gets the values of the recipe, and a clean inode leaves the set of changed ones.
void InodeChanges::settle(const InodePtr& inode) {
  const MutexLock lock(inode->mutex);
  put_record(metadata_, *inode);
  if (inode->content != nullptr && inode->content->dirty()) return;  // storing it failed; a later group tries again
  table_.clear_dirty(inode);
  if (!table_.is_open(inode->number)) inode->content.reset();
}

}  // namespace dedupfs
