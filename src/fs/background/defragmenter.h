// Defragments recent writes (store/relocation/relocator.h), window by window, on a thread of its own at low priority. It drops
// windows while a reclaim runs, and while the host does not allow it.
//
// Threads:   every function from any thread.
// Ownership: the objects behind the host must outlive it; stop(), or the destructor, ends its thread.
// Failure:   logged. A failure loses nothing.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "base/result.h"
#include "store/ingest/recent_references.h"
#include "store/relocation/in_group.h"
#include "store/volume/volume.h"

namespace dedupfs {

struct DefragmenterHost {
  InGroup in_group;
  // Commits all changes from before the call. It may wait so long for a commit that others request.
  std::function<Result<void>(std::chrono::milliseconds patience)> commit;
  std::chrono::milliseconds patience{};  // while others write
  std::function<bool()> may_defragment;
};

class Defragmenter {
 public:
  // The percentage of the written data that may be stored again: 1 to 100.
  Defragmenter(Volume& volume, unsigned percent, DefragmenterHost host);
  ~Defragmenter();

  // Ends the thread and defragments the rest, but begins no step after `patience`. The next commit makes the moves durable. Call it
  // after the last write.
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
