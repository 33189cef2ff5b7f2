#include "fs/transactions/committer.h"

#include <pthread.h>

#include <algorithm>

#include "base/guarded.h"

namespace dedupfs {
namespace {

// Each preparation ends the streams of all files that are being written. This costs one chunk boundary for each file.
constexpr std::chrono::milliseconds kBetweenPreparations{200};
// The share of time for background steps when commits follow one another directly. It is so small that callers that wait for
// the next commit do not notice.
constexpr int kCleanUpPart = 4;
constexpr std::chrono::milliseconds kMaxBackgroundStep{250};
// After work failed for lack of memory, the pause before the next attempt.
constexpr std::chrono::milliseconds kAfterFailure{100};

}  // namespace

Committer::Committer(std::chrono::milliseconds interval, Duties duties)
    : interval_(interval),
      duties_(std::move(duties)),
      next_round_(std::make_shared<Round>()),
      thread_([this] { run(); }) {
  pthread_setname_np(thread_.native_handle(), "dedupfs-commit");
}

Committer::~Committer() {
  stop();
}

Result<void> Committer::commit(std::chrono::milliseconds patience) {
  const MutexLock lock(mutex_);
  if (!duties_.has_changes() && !running_) return {};
  if (runner_ == std::this_thread::get_id()) {  // it would wait for itself
    round_wanted_ = true;
    return Error{ErrorCode::kBusy, "the commit comes after what its thread does now"};
  }
  const std::shared_ptr<Round> round = next_round_;
  if (done_.wait_for(mutex_, patience, [&]() DEDUPFS_REQUIRES(mutex_) { return round->done; })) return round->result;
  round_wanted_ = true;
  wakeup_.notify_one();
  done_.wait(mutex_, [&]() DEDUPFS_REQUIRES(mutex_) { return round->done; });
  return round->result;
}

void Committer::request_commit() {
  const MutexLock lock(mutex_);
  round_wanted_ = true;
  wakeup_.notify_one();
}

void Committer::request_prepare() {
  const MutexLock lock(mutex_);
  prepare_wanted_ = true;
  wakeup_.notify_one();
}

void Committer::request_background_step() {
  const MutexLock lock(mutex_);
  clean_up_wanted_ = true;
  wakeup_.notify_one();
}

void Committer::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    wakeup_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void Committer::run() {
  const MutexLock lock(mutex_);
  runner_ = std::this_thread::get_id();
  Clock::time_point next_by_age = Clock::now() + interval_;
  while (!stopping_) {
    const Clock::time_point now = Clock::now();
    if (now >= next_by_age) {
      next_by_age = now + interval_;
      {
        const MutexUnlock unlocked(mutex_);
        survive("keeping what changes by itself", duties_.now_and_then);
      }
      if (duties_.has_changes()) round_wanted_ = true;
      continue;  // requests may have come meanwhile
    }
    const bool round = round_wanted_;
    const bool preparation = !round && prepare_wanted_ && now >= prepare_not_before_;
    if (round) commit_round();
    if (preparation) prepare_round();
    // If commits follow one another without a pause, deletion must still go on, and keep up with the callers.
    if (clean_up_wanted_ && !stopping_) {
      clean_up(std::min<Clock::duration>((Clock::now() - now) / kCleanUpPart, kMaxBackgroundStep));
    } else if (!round && !preparation) {
      wakeup_.wait_until(mutex_, prepare_wanted_ ? std::min(next_by_age, prepare_not_before_) : next_by_age);
    }
  }
  next_round_->result = Error{ErrorCode::kInterrupted, "the filesystem is being closed"};
  next_round_->done = true;
  done_.notify_all();
}

// This commit also serves callers that ask while the preparation runs, because the group is still open. Callers that ask later
// wait for the next one.
void Committer::commit_round() {
  std::shared_ptr<Round> next;
  if (!survive("committing", [&] { next = std::make_shared<Round>(); })) {
    wakeup_.wait_for(mutex_, kAfterFailure, [this]() DEDUPFS_REQUIRES(mutex_) { return stopping_; });
    return;  // it is still wanted
  }
  running_ = true;
  {
    const MutexUnlock unlocked(mutex_);
    survive("storing files before a commit", duties_.prepare);
  }
  const std::shared_ptr<Round> round = std::exchange(next_round_, std::move(next));
  round_wanted_ = false;
  prepare_wanted_ = false;
  Result<void> result;
  {
    const MutexUnlock unlocked(mutex_);
    result = guarded(duties_.commit);
  }
  round->result = std::move(result);
  round->done = true;
  running_ = false;
  done_.notify_all();
}

void Committer::prepare_round() {
  prepare_wanted_ = false;
  {
    const MutexUnlock unlocked(mutex_);
    survive("storing files early", duties_.prepare);
  }
  prepare_not_before_ = Clock::now() + kBetweenPreparations;
}

// Does one background step, and more steps while there is time.
void Committer::clean_up(Clock::duration at_least) {
  const Clock::time_point end = Clock::now() + at_least;
  do {
    clean_up_wanted_ = false;
    bool more = true;
    bool done = false;
    {
      const MutexUnlock unlocked(mutex_);
      done = survive("cleaning up", [&] { more = duties_.background_step(); });
    }
    clean_up_wanted_ = clean_up_wanted_ || more;
    if (!done) wakeup_.wait_for(mutex_, kAfterFailure, [this]() DEDUPFS_REQUIRES(mutex_) { return stopping_; });
  } while (clean_up_wanted_ && !stopping_ && Clock::now() < end);
}

}  // namespace dedupfs
