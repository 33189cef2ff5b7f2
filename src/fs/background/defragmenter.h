// Rewrites what was written lately and lies scattered (store/relocation/defragmentation.h), window by window, on a thread of its own at low
// priority. It gives way: while a reclaim runs, or while it is told not to, windows are let go as they are.
//
// Threads:   every function from any thread.
// Ownership: what the host reaches must outlive it; stop(), or the destructor, ends its thread.
// Failure:   logged. Nothing is lost by it.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "base/result.h"
#include "store/volume/volume.h"

namespace dedupfs {

struct DefragmenterHost {
  InGroup in_group;
  // All that was changed before it was called is committed; it may wait so long for a commit that others want.
  std::function<Result<void>(std::chrono::milliseconds patience)> commit;
  std::chrono::milliseconds patience{};  // while others write
  std::function<bool()> may_defragment;
};

class Defragmenter {
 public:
  // Chunks of so many percent of what is written may be stored once more: 1 to 100.
  Defragmenter(Volume& volume, unsigned percent, DefragmenterHost host);
  ~Defragmenter();

  // Ends the thread, and sees to what is left, but takes no longer than `patience` to begin with the last of it. What it
  // moves is for the next commit to make durable. Nothing may be written any more.
  void finish(std::chrono::milliseconds patience);
  void stop();

 private:
  void run();
  void rewrite(const RecentReferences::Window& window, std::chrono::milliseconds patience);

  Volume& volume_;
  const unsigned percent_;
  const DefragmenterHost host_;
  std::thread thread_;
};

}  // namespace dedupfs
