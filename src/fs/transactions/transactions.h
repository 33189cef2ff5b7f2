// Transaction groups: all changes between two commits, which become durable together or not at all. An operation that changes
// something is a Change; a group ends when no Change is under way. See docs/commit-and-crash.md.
//
// Threads:   every function from any thread, but start() and finish(). sync() and a Change may wait for a commit: begin them
//            with none of the locks in docs/namespace.md but the mutexes of snapshots and renames. One Change at a time in a
//            thread.
// Ownership: owns the committer's thread, from start() to finish(). Volume, Writability and source must outlive it.
// Failure:   a commit that may be tried again leaves the group, and the next one ends it. Any other aborts: the volume is
//            read-only from then on, and sync() gives kIo.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"
#include "fs/format/types.h"
#include "fs/transactions/commit_hook.h"
#include "fs/transactions/committer.h"
#include "fs/transactions/group_source.h"
#include "fs/transactions/lock_order.h"
#include "fs/transactions/quiesce_gate.h"
#include "fs/transactions/writability.h"
#include "store/metadata/metadata.h"
#include "store/volume/volume.h"

namespace dedupfs {

class Transactions {
 public:
  struct Limits {
    std::chrono::milliseconds commit_interval{};
    std::uint64_t group_bytes = 0;  // a commit starts here, and groups take four times as much at most
  };
  // What follows on the committer's thread.
  struct Followers {
    std::function<bool()> clean_up;  // between commits: a step of background deletion; true if there is more
    // After each attempt. True: what users changed has become durable.
    std::function<void(bool is_new_state)> after_commit;
  };

  Transactions(Volume& volume, Writability& writability, GroupSource& source, const Limits& limits);
  ~Transactions();

  // Commits once, then begins to end groups. An Error: nothing runs. Of a volume that is read-only, call neither.
  Result<void> start(Followers followers);
  // Ends the thread and commits the last group. Nothing may change meanwhile.
  Result<void> finish();

  // The scope of an operation that changes something. Before it: check_writable() and the space guard.
  class DEDUPFS_SCOPED_CAPABILITY Change {
   public:
    explicit Change(Transactions& transactions) DEDUPFS_ACQUIRE_SHARED(transactions.gate_)
        : transactions_(transactions), pass_((transactions.throttle(), transactions.gate_)) {}
    ~Change() DEDUPFS_RELEASE_GENERIC() {
      // What an exception ended halfway must not be committed.
      if (std::uncaught_exceptions() > exceptions_ && Metadata::changes_of_this_thread() != changes_)
        transactions_.writability_.abort({ErrorCode::kNoMemory, "memory ran out in the middle of a change"});
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    Transactions& transactions_;
    QuiesceGate::Pass pass_;
    const int exceptions_ = std::uncaught_exceptions();
    const std::uint64_t changes_ = Metadata::changes_of_this_thread();
  };
  // For what stores data, but is no operation of its own.
  QuiesceGate& gate() DEDUPFS_RETURN_CAPABILITY(gate_) { return gate_; }

  // As in Writability.
  Result<void> check_writable() const { return writability_.check(); }
  Result<void> check_writable(InodeNumber node) const { return writability_.check(node); }

  // Everything that happened before the call is durable when it returns, but for files that could not be stored. It may wait so
  // long for a commit that others want.
  Result<void> sync(std::chrono::milliseconds patience = {});
  // Whether the last attempt to store all data stored all.
  Result<void> check_stored() const;
  struct AtEnd {
    Result<void> synced;
    std::optional<Result<void>> done;  // of the task; nothing: no group has ended
  };
  // The same, with a task at the end of the group. One at a time.
  AtEnd sync_with(CommitHook::Task task);

  // Soon, without waiting. Before start() they do nothing.
  void request_commit();
  void request_prepare();   // file data takes too much memory
  void request_clean_up();  // there is something to clean up

  // What is in memory and will need room on the disk, at worst.
  std::uint64_t pending_bytes() const;

 private:
  void throttle();
  std::uint64_t open_group_bytes() const;
  bool has_changes() const;
  std::optional<Error> obstacle() const;
  Result<void> commit_group();
  Result<void> end_group();
  Result<void> commit_volume();

  Volume& volume_;
  Metadata& metadata_;
  Writability& writability_;
  GroupSource& source_;
  const Limits limits_;
  Followers followers_;
  QuiesceGate gate_ DEDUPFS_ACQUIRED_AFTER(lock_order::quiescing) DEDUPFS_ACQUIRED_BEFORE(lock_order::names);
  CommitHook commit_hook_;
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<std::uint64_t> frozen_bytes_{0};  // of the group that is being committed
  std::atomic<bool> is_last_{false};            // the next commit is the last
  std::unique_ptr<Committer> committer_;        // last, so that its thread ends before what it uses
};

}  // namespace dedupfs
