// What a mounted volume does beside requests: scrubs, checkpoints, reclaims, defragmentation. When each is due, and what it
// needs of the filesystem.
//
// Threads:   each kind of work has a thread of its own. The functions here from one thread, but after_commit() and the objects
//            that it hands out.
// Ownership: owns the threads. Everything that it is given must outlive it.
// Failure:   as in scrubber.h, checkpointer.h, reclaimer.h, defragmenter.h.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "base/result.h"
#include "fs/background/checkpointer.h"
#include "fs/background/defragmenter.h"
#include "fs/background/reclaimer.h"
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
    std::chrono::milliseconds patience{};             // waits so long for a commit that others want
    unsigned defragment_percent = 0;                  // 0: none
  };

  BackgroundWork(Volume& volume, const InodeTable& table, const InodeNumbers& numbers, const Writability& writability,
                 Transactions& transactions, SpaceGuard& space, CleanUp& clean_up, const Settings& settings);

  // Of a volume that is writable: checkpoints before the first commit, the rest behind it.
  void start_checkpoints();
  void start();
  // See Transactions::Followers.
  void after_commit(bool is_new_state);

  // Before the last commit: ends everything but checkpoints.
  void stop();
  // Behind the last commit. An Error says why the last state has no checkpoint.
  Result<void> finish_checkpoint(const Checkpoints::GoesOn& goes_on);

  Scrubber& scrubber() { return scrubber_; }
  Reclaimer& reclaimer() { return *reclaimer_; }  // after start()

 private:
  ReclaimHost reclaim_host();
  DefragmenterHost defragmenter_host();
  bool is_short_of_space();
  std::optional<ReclaimSettings> due_reclaim();

  Volume& volume_;
  const InodeTable& table_;
  const InodeNumbers& numbers_;
  const Writability& writability_;
  Transactions& transactions_;
  SpaceGuard& space_;
  CleanUp& clean_up_;
  const Settings settings_;
  const StoredReferences references_;

  // Last, so that their threads end before what they use.
  std::unique_ptr<Checkpointer> checkpointer_;
  Scrubber scrubber_;
  std::unique_ptr<Reclaimer> reclaimer_;
  std::unique_ptr<Defragmenter> defragmenter_;
};

}  // namespace dedupfs
