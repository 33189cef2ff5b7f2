// What streams came to refer to lately, in order, in stretches of about kStretchBytes of file data: what rewriting looks at.
//
// Threads: every function from any thread.
// Memory:  8 bytes a reference, of kMostStretches full stretches at most; older ones are dropped.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "store/format/types.h"

namespace dedupfs {

class RecentReferences {
 public:
  // So long that what a stream needs of a region, scattered as it may be, lies in one stretch mostly.
  static constexpr std::uint64_t kStretchBytes = 1 << 30;
  static constexpr std::size_t kMostReferences = 1 << 18;  // of a stretch
  static constexpr std::size_t kMostStretches = 16;

  struct Stretch {
    std::uint64_t bytes = 0;
    std::uint64_t new_bytes = 0;  // of these, in chunks that were not there
    std::vector<ChunkId> ids;
  };

  void start();  // to take notes
  void note(const Stretch& some);
  // The oldest stretch, waiting until one is full; nothing after end().
  std::optional<Stretch> wait_for_stretch();
  void end();
  // The same without waiting, and in the end what is not full yet.
  std::optional<Stretch> take();

 private:
  std::optional<Stretch> take_full();

  std::atomic<bool> started_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  Stretch open_;
  std::deque<Stretch> full_;
};

}  // namespace dedupfs
