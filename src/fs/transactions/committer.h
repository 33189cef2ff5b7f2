// The thread that ends transaction groups: on request (fsync), and when the group is old or large enough. Between commits it
// does the background work that must not run beside a commit.
//
// Threads:   every function from any thread, except stop(). The duties run on the committer's thread, one at a time.
// Ownership: the duties must outlive the committer; the destructor stops the thread without a last commit.
// Failure:   the callers that wait for a commit get its error. The next commit starts as usual.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "base/mutex.h"
#include "base/result.h"

namespace dedupfs {

class Committer {
 public:
  struct Duties {
    std::function<bool()> has_changes;           // anything that is not durable
    std::function<void()> prepare;               // the work that can be done while operations still run
    std::function<Result<void>()> commit;        // ends the group and makes it durable
    std::function<bool()> background_step;       // true if there is more to do
    std::function<void()> now_and_then = [] {};  // once an interval, without a commit
  };

  Committer(std::chrono::milliseconds interval, Duties duties);
  ~Committer();

  // When it returns, everything that happened before the call is durable. Callers share commits. With `patience`, a caller
  // first waits so long for a commit that another one requests. A duty that calls it requests a commit and gets kBusy.
  Result<void> commit(std::chrono::milliseconds patience = {});

  void request_commit();           // soon, without waiting
  void request_prepare();          // soon: file data takes too much memory
  void request_background_step();  // there is something to clean up

  // Ends the thread. Waiting callers get kInterrupted. Nobody may call commit() afterwards.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Round {
    bool done = false;  // both under mutex_
    Result<void> result;
  };

  void run();
  void commit_round() DEDUPFS_REQUIRES(mutex_);
  void prepare_round() DEDUPFS_REQUIRES(mutex_);
  void clean_up(Clock::duration at_least) DEDUPFS_REQUIRES(mutex_);

  const std::chrono::milliseconds interval_;
  const Duties duties_;
  Mutex mutex_;
  ConditionVariable wakeup_;
  ConditionVariable done_;
  // The round of the callers that need the end of a group which has not been ended yet.
  std::shared_ptr<Round> next_round_ DEDUPFS_GUARDED_BY(mutex_);
  bool round_wanted_ DEDUPFS_GUARDED_BY(mutex_) = false;
  bool running_ DEDUPFS_GUARDED_BY(mutex_) = false;  // a commit is under way
  bool prepare_wanted_ DEDUPFS_GUARDED_BY(mutex_) = false;
  Clock::time_point prepare_not_before_ DEDUPFS_GUARDED_BY(mutex_);
  bool clean_up_wanted_ DEDUPFS_GUARDED_BY(mutex_) = false;
  bool stopping_ DEDUPFS_GUARDED_BY(mutex_) = false;
  std::thread::id runner_ DEDUPFS_GUARDED_BY(mutex_);  // the committer's thread, once it runs
  std::thread thread_;
};

}  // namespace dedupfs
