// A tool's wait for another process: its time limit, and its messages to the user.
//
// Threads: values, one thread each.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "base/result.h"

namespace dedupfs {

struct Patience {
  std::chrono::milliseconds limit = std::chrono::hours(1);  // of each wait, without progress
  std::function<void(const std::string& line)> say;         // empty: to standard error
};

// One wait. After two seconds it tells the user the reason of the wait, then now and then its length. It has an end.
class Wait {
 public:
  // `what` completes "waiting for ...": "process 12 to answer".
  Wait(std::string what, const Patience& patience);

  // Gives the reason of the delay for each message. Empty: unknown.
  void explain(std::function<std::string()> why) { why_ = std::move(why); }

  // Reports progress, which messages mention from now on, and restarts the time limit.
  void note_progress(std::string progress);

  // For sleeps and poll(2): the time until the next message or the limit; `longest` at most.
  std::chrono::milliseconds pause(std::chrono::milliseconds longest = std::chrono::seconds(1)) const;
  // To be called after each pause. kInterrupted when the limit is reached.
  Result<void> check();
  // Waits until the descriptor has one of these events of poll(2).
  Result<void> for_events(int descriptor, short events);
  // Waits until `is_so` returns true. Calls it several times a second.
  Result<void> until(const std::function<bool()>& is_so);

 private:
  std::string reason() const;

  using Clock = std::chrono::steady_clock;

  std::string what_;
  std::chrono::milliseconds limit_;
  std::function<void(const std::string&)> say_;
  std::function<std::string()> why_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point last_progress_ = begin_;
  std::string progress_;
  Clock::time_point next_line_;
  int lines_ = 0;
};

}  // namespace dedupfs
