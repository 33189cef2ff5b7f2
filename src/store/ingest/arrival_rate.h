// Whether data arrives so slowly that strong compression keeps up with it: a backup over a network, an editor that saves a file.
// Then it need not be compressed twice.
//
// Threads: one user at a time.
#pragma once

#include <chrono>
#include <cstdint>

namespace dedupfs {

class ArrivalRate {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::milliseconds kWindow{250};
  // So much in a window is still slow: 32 MiB/s. A short burst costs no more than the compression of one window.
  static constexpr std::uint64_t kSlowBytes = 8 << 20;

  static constexpr std::uint64_t bytes_in_window(std::uint64_t bytes_a_second) {
    return bytes_a_second / (std::chrono::seconds(1) / kWindow);
  }

  // 0: every source is fast.
  explicit ArrivalRate(std::uint64_t slow_bytes = kSlowBytes) : slow_bytes_(slow_bytes) {}

  // The source had to wait for what is done with its bytes. How fast it is without that shows in the next two windows.
  void note_wait(Clock::time_point now) { fast_until_ = now + 2 * kWindow; }

  // Counts the bytes that arrived just now, and says whether the source was slow in the last one to two windows.
  bool is_slow_after(std::uint64_t bytes, Clock::time_point now) {
    if (now - window_begin_ >= kWindow) {
      last_bytes_ = now - window_begin_ < 2 * kWindow ? bytes_ : 0;
      bytes_ = 0;
      window_begin_ = now;
    }
    bytes_ += bytes;
    return last_bytes_ + bytes_ <= slow_bytes_ && now >= fast_until_;
  }

 private:
  const std::uint64_t slow_bytes_;
  Clock::time_point window_begin_{};
  std::uint64_t bytes_ = 0;       // of this window
  std::uint64_t last_bytes_ = 0;  // of the window before it
  Clock::time_point fast_until_{};
};

}  // namespace dedupfs
