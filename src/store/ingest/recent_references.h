// The chunks that streams referred to lately, in order, in windows of about kWindowBytes of file data. Defragmentation looks at them.
//
// Threads: every function from any thread.
// Memory:  8 bytes a reference, of kMaxWindows full windows at most; older ones are dropped.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "store/format/types.h"

namespace dedupfs {

class RecentReferences {
 public:
  // So long that the chunks that a stream needs of one region, even if scattered, mostly lie in one window.
  static constexpr std::uint64_t kWindowBytes = 1 << 30;
  static constexpr std::size_t kMaxReferences = 1 << 18;  // of a window
  static constexpr std::size_t kMaxWindows = 16;

  struct Window {
    std::uint64_t bytes = 0;
    std::uint64_t new_bytes = 0;  // of these, in chunks that were not there
    std::vector<ChunkId> ids;
  };

  void start();  // to take notes
  void note(const Window& some);
  // The oldest window, waiting until one is full; nothing after end().
  std::optional<Window> wait_for_window();
  void end();
  // The same without a wait. At the end it also gives a window that is not full yet.
  std::optional<Window> take();

 private:
  std::optional<Window> take_full() DEDUPFS_REQUIRES(mutex_);

  std::atomic<bool> started_ = false;
  Mutex mutex_;
  ConditionVariable changed_;
  bool ended_ DEDUPFS_GUARDED_BY(mutex_) = false;
  Window open_ DEDUPFS_GUARDED_BY(mutex_);
  std::deque<Window> full_ DEDUPFS_GUARDED_BY(mutex_);
};

}  // namespace dedupfs
