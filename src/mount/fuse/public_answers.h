// Questions about a mount that everybody may ask who can see it: virtual extended attributes, as those of CephFS ("ceph.dir.rbytes").
// The kernel carries the question, so that it reaches the daemon of this very mount, from any mount namespace, and only from users
// whom the mount lets in. Answers have no names of files, and change nothing.
//
//   getfattr --only-values -n dedupfs.statistics /backup
//
// An answer may take a walk over the metadata, so nobody can make the daemon walk all the time: an answer serves all who ask until it
// is kCostFactor times as old as it took to make, and at least a second. A thread of its own makes it; no thread that serves the
// kernel waits. At most kMaxWaiting questions wait, kMaxWaitingOfUser for one user.
//
// Ownership: the functions that make answers refer to what the caller keeps until stop().
// Threads:   every function from any thread. `done` runs on the thread of ask(), or on the own one; it must not throw.
// Failure:   kNoData for an unknown name; kBusy at a limit; kStale after stop(); the error of the maker otherwise, which serves as an answer does.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"

namespace dedupfs {

class PublicAnswers {
 public:
  using Clock = std::chrono::steady_clock;
  using Make = std::function<Result<std::string>()>;
  using Makers = std::map<std::string, Make, std::less<>>;
  using Done = std::function<void(const Result<std::string>&)>;

  static constexpr std::string_view kPrefix = "dedupfs.";  // of all names
  static constexpr int kCostFactor = 20;
  static constexpr std::size_t kMaxWaiting = 64;
  static constexpr std::size_t kMaxWaitingOfUser = 8;

  explicit PublicAnswers(const Makers& makers, std::function<Clock::time_point()> now = Clock::now);
  ~PublicAnswers();
  PublicAnswers(const PublicAnswers&) = delete;
  PublicAnswers& operator=(const PublicAnswers&) = delete;

  // Calls `done` once, now or later.
  void ask(std::string_view name, uid_t user, Done done);
  // Waits for a maker that runs. Those who wait get kStale.
  void stop();

 private:
  struct Waiting {
    uid_t user = 0;
    Done done;
  };
  struct Question {
    Make make;
    Result<std::string> answer;
    Clock::time_point fresh_until{};
    std::vector<Waiting> waiting;
  };

  void run();
  void answer(Question& question) DEDUPFS_REQUIRES(mutex_);
  Question* next() DEDUPFS_REQUIRES(mutex_);
  bool has_room_for(uid_t user) const DEDUPFS_REQUIRES(mutex_);

  const std::function<Clock::time_point()> now_;
  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::map<std::string, Question, std::less<>> questions_ DEDUPFS_GUARDED_BY(mutex_);  // none is added or removed
  bool stopping_ DEDUPFS_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace dedupfs
