// How long a tool waits for another process, and what it tells its user meanwhile.
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

// One wait. After two seconds it tells the user what it waits for, then now and then how long it has waited. It has an end.
class Wait {
 public:
  // `what` completes "waiting for ...": "process 12 to answer".
  Wait(std::string what, const Patience& patience);

  // Asked whenever something is said: why it takes so long. Empty: nobody knows.
  void explain(std::function<std::string()> why) { why_ = std::move(why); }

  // There is progress, which is said from now on: the limit counts anew.
  void note_progress(std::string progress);

  // For sleeps and poll(2): how long nothing needs to be said or ended; `longest` at most.
  std::chrono::milliseconds pause(std::chrono::milliseconds longest = std::chrono::seconds(1)) const;
  // To be called after each pause. kInterrupted when the limit is reached.
  Result<void> go_on();
  // Until the descriptor has one of these events of poll(2).
  Result<void> for_events(int descriptor, short events);
  // Until `is_so` says yes; it is asked several times a second.
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
