// Times work that is repeated.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace dedupfs::bench {

// Work that is timed as a whole, without a look at the clock in between. One thread is timed by its own CPU time, which stands still
// while other threads have the core. With more runnable threads than cores, the wall clock made passes of 20 ms look four times as
// long as passes of 0.2 ms. Several threads are timed by the wall clock.
class Timed {
 public:
  // Does the work once: to warm up, and to learn how often a pass has to repeat it.
  Timed(bool one_thread, std::function<void()> work);

  void pass();

  const std::vector<double>& seconds() const { return seconds_; }  // for one repetition, of each pass

 private:
  bool one_thread_;
  std::function<void()> work_;
  std::size_t times_a_pass_;
  std::vector<double> seconds_;
};

// The CPU time of this thread.
double thread_seconds();

double median(std::vector<double> values);  // not empty

}  // namespace dedupfs::bench
