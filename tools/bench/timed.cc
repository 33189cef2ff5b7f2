#include "bench/timed.h"

#include <algorithm>
#include <ctime>
#include <utility>

namespace dedupfs::bench {
namespace {

double seconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds_now(bool one_thread) {
  return one_thread ? thread_seconds() : seconds_of(CLOCK_MONOTONIC);
}

}  // namespace

Timed::Timed(bool one_thread, std::function<void()> work) : one_thread_(one_thread), work_(std::move(work)) {
  constexpr double kMinPassSeconds = 0.02;  // an interrupt is a small part of this
  const double start = seconds_now(one_thread_);
  work_();
  const double once = std::max(seconds_now(one_thread_) - start, 1e-9);
  times_a_pass_ = static_cast<std::size_t>(std::clamp(kMinPassSeconds / once, 1.0, 1e6));
}

void Timed::pass() {
  const double start = seconds_now(one_thread_);
  for (std::size_t i = 0; i < times_a_pass_; ++i) work_();
  seconds_.push_back((seconds_now(one_thread_) - start) / static_cast<double>(times_a_pass_));
}

double thread_seconds() {
  return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace dedupfs::bench
