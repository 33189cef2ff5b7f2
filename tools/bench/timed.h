// How long work takes, when it is done again and again.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace dedupfs::bench {

// Work that is timed as a whole, without looking at a clock in between. One thread is timed by the clock of its own CPU time:
// it stands still while others have the core (on a machine with more runnable threads than cores, the wall clock made passes
// of 20 ms look four times as long as passes of 0.2 ms). Several threads are timed by the wall clock.
class Timed {
 public:
  // Does the work once, to warm up, and to learn how often it makes a pass that lasts.
  Timed(bool one_thread, std::function<void()> work);

  void pass();

  const std::vector<double>& seconds() const { return seconds_; }  // for the work once, by each pass

 private:
  bool one_thread_;
  std::function<void()> work_;
  std::size_t times_a_pass_;
  std::vector<double> seconds_;
};

// That for which this thread ran.
double thread_seconds();

double median(std::vector<double> values);  // not empty

}  // namespace dedupfs::bench
