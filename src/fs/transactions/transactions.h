// Transaction groups: all changes between two commits. They become durable together or not at all. An operation that changes
// something is a Change. A group ends at a moment without any Change. See docs/commit-and-crash.md.
//
// Threads:   every function from any thread, except start() and finish(). sync() and a Change may wait for a commit. When they
//            begin, the thread may hold the mutexes of snapshots and renames, but no other lock in docs/namespace.md. One
//            Change at a time in a thread.
// Ownership: owns the committer's thread, from start() to finish(). Volume, Writability and source must outlive it.
// Failure:   after a failure that is worth another attempt the group stays, and the next commit ends it. After any other
//            failure the volume is read-only, and sync() returns kIo.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include "base/mutex.h"
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
    std::uint64_t group_bytes = 0;  // a commit starts at this size; groups take at most four times as much
  };
  // Work on the committer's thread beside and after commits.
  struct Followers {
    std::function<bool()> clean_up;  // between commits: a step of background deletion; true if there is more
    // After each attempt. True: changes of users have become durable.
    std::function<void(bool is_new_state)> after_commit;
    std::function<void()> now_and_then = [] {};  // once a commit interval; it may change the open group
  };

  Transactions(Volume& volume, Writability& writability, GroupSource& source, const Limits& limits);
  ~Transactions();

  // Commits once, then starts the committer's thread. After an Error nothing runs. Call neither start() nor finish() on a
  // read-only volume.
  Result<void> start(Followers followers);
  // Ends the thread and commits the last group. No Change may run meanwhile.
  Result<void> finish();

  // The scope of an operation that changes something. Call check_writable() and the space guard before it.
  class DEDUPFS_SCOPED_CAPABILITY Change {
   public:
    explicit Change(Transactions& transactions) DEDUPFS_ACQUIRE_SHARED(transactions.gate_)
        : transactions_(transactions), pass_((transactions.throttle(), transactions.gate_)) {}
    ~Change() DEDUPFS_RELEASE_GENERIC() {
      // An operation that an exception ended halfway must not be committed.
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
  // For code that stores data, but is no operation of its own.
  QuiesceGate& gate() DEDUPFS_RETURN_CAPABILITY(gate_) { return gate_; }

  // As in Writability.
  Result<void> check_writable() const { return writability_.check(); }
  Result<void> check_writable(InodeNumber node) const { return writability_.check(node); }

  // When it returns, everything that happened before the call is durable, except files that could not be stored. It may wait up
  // to `patience` for a commit that others request.
  Result<void> sync(std::chrono::milliseconds patience = {});
  // An Error if the last attempt to store all data left some of them.
  Result<void> check_stored() const;
  struct AtEnd {
    Result<void> synced;
    std::optional<Result<void>> done;  // the result of the task; nothing: no group has ended
  };
  // The same, with a task at the end of the group. Other callers wait for their turn.
  AtEnd sync_with(CommitHook::Task task);

  // The changes that have begun since the start.
  std::uint64_t changes() const { return changes_; }

  // These request work soon, and do not wait. Before start() they do nothing.
  void request_commit();
  void request_prepare();   // file data takes too much memory
  void request_clean_up();  // there is something to clean up

  // The data in memory that will need room on the disk, in the worst case.
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
  Mutex hook_mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::renames) DEDUPFS_ACQUIRED_BEFORE(lock_order::quiescing);
  CommitHook commit_hook_;
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<std::uint64_t> frozen_bytes_{0};  // of the group that is being committed
  std::atomic<bool> is_last_{false};            // the next commit is the last
  std::unique_ptr<Committer> committer_;        // last, so that its thread ends before the objects that it uses
};

}  // namespace dedupfs
