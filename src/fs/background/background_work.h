// The background work of a mounted volume: scrubs, checkpoints, reclaims and settling, defragmentation. This connects it to the
// filesystem.
//
// Threads:   each kind of work has a thread of its own. Call the functions here from one thread, except after_commit(). The
//            objects that it returns can be used from any thread.
// Ownership: owns the threads. All constructor arguments must outlive it.
// Failure:   as in scrubber.h, checkpointer.h, reclaimer.h, defragmenter.h.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "base/activity.h"
#include "base/mutex.h"
#include "base/result.h"
#include "fs/background/checkpointer.h"
#include "fs/background/damaged_files.h"
#include "fs/background/defragmenter.h"
#include "fs/background/due_reclaims.h"
#include "fs/background/reclaimer.h"
#include "fs/background/settle_mode.h"
#include "fs/background/stored_references.h"
#include "fs/inodes/inode_numbers.h"
#include "fs/inodes/inode_table.h"
#include "fs/snapshots/clean_up.h"
#include "fs/transactions/space_guard.h"
#include "fs/transactions/transactions.h"
#include "fs/transactions/writability.h"
#include "store/check/scrubber.h"
#include "store/volume/volume.h"

namespace dedupfs {

class BackgroundWork {
 public:
  struct Settings {
    std::chrono::milliseconds checkpoint_interval{};  // 0: none
    std::chrono::milliseconds patience{};             // the longest wait for a commit that others request
    unsigned defragment_percent = 0;                  // 0: none
    SettleMode settle = SettleMode::kOff;
    unsigned settle_cpu_percent = 100;
    unsigned gather_percent = 100;
    unsigned payback_months = 3;                // of what is fetched from a bucket to store it anew
    std::chrono::hours least_container_age{0};  // before what is in it is stored anew
  };

  BackgroundWork(Volume& volume, const InodeTable& table, const InodeNumbers& numbers, const Writability& writability,
                 Transactions& transactions, SpaceGuard& space, CleanUp& clean_up, const Activity& activity,
                 const Settings& settings);

  // Call these only if the volume is writable: start_checkpoints() before the first commit, start() after it.
  void start_checkpoints();
  void start();
  // See Transactions::Followers.
  void after_commit(bool is_new_state);

  // Ends all work except checkpoints. Call it before the last commit.
  void stop();
  // Call it after the last commit. An Error says why the last state has no checkpoint.
  Result<void> finish_checkpoint(const Checkpoints::GoesOn& goes_on);

  Scrubber& scrubber() { return scrubber_; }
  // See Filesystem.
  std::optional<DamagedFileNames> damaged_files() const;
  Reclaimer& reclaimer() { return *reclaimer_; }  // after start()

 private:
  ReclaimHost reclaim_host();
  ScrubHost scrub_host();
  std::optional<DamagedFileNames> name_and_log_damaged_files();
  void keep_damaged_files(std::optional<DamagedFileNames> files);
  DefragmenterHost defragmenter_host();
  bool is_short_of_space();
  bool is_idle() const;

  Volume& volume_;
  const InodeTable& table_;
  const InodeNumbers& numbers_;
  const Writability& writability_;
  Transactions& transactions_;
  SpaceGuard& space_;
  CleanUp& clean_up_;
  const Activity& activity_;
  const Settings settings_;
  const StoredReferences references_;
  mutable Mutex mutex_;
  std::optional<DamagedFileNames> damaged_files_ DEDUPFS_GUARDED_BY(mutex_);

  // Last, so that their threads end before the objects that they use.
  std::unique_ptr<Checkpointer> checkpointer_;
  Scrubber scrubber_;
  std::unique_ptr<DueReclaims> due_reclaims_;  // of the thread of the reclaimer
  std::unique_ptr<Reclaimer> reclaimer_;
  std::unique_ptr<Defragmenter> defragmenter_;
};

}  // namespace dedupfs
