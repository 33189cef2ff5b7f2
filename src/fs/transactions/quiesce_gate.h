// The gate that operations pass while a transaction group is open. It closes for a moment when the group ends, so that a group
// never holds half an operation. Unlike with std::shared_mutex, new operations cannot starve the thread that closes it.
//
// Threads: every function from any thread. An operation enters once, and never waits for another operation inside. It must not
//          enter twice: the second entry would wait for a closing gate, which waits for the first.
#pragma once

#include <cstdint>

#include "base/mutex.h"

namespace dedupfs {

class DEDUPFS_CAPABILITY("quiesce gate") QuiesceGate {
 public:
  class DEDUPFS_SCOPED_CAPABILITY Pass {
   public:
    explicit Pass(QuiesceGate& gate) DEDUPFS_ACQUIRE_SHARED(gate) : gate_(gate) { gate_.enter(); }
    ~Pass() DEDUPFS_RELEASE_GENERIC() { gate_.leave(); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    QuiesceGate& gate_;
  };

  // Its constructor returns when all operations have left. It opens the gate again at the end of its scope.
  class DEDUPFS_SCOPED_CAPABILITY Closure {
   public:
    explicit Closure(QuiesceGate& gate) DEDUPFS_ACQUIRE(gate) : gate_(gate) { gate_.close(); }
    ~Closure() DEDUPFS_RELEASE() { gate_.open(); }
    Closure(const Closure&) = delete;
    Closure& operator=(const Closure&) = delete;

   private:
    QuiesceGate& gate_;
  };

 private:
  // These functions are the lock. So the analysis trusts their declarations and does not look into them.
  void enter() DEDUPFS_ACQUIRE_SHARED() DEDUPFS_NO_THREAD_SAFETY_ANALYSIS;
  void leave() DEDUPFS_RELEASE_SHARED() DEDUPFS_NO_THREAD_SAFETY_ANALYSIS;
  void close() DEDUPFS_ACQUIRE() DEDUPFS_NO_THREAD_SAFETY_ANALYSIS;
  void open() DEDUPFS_RELEASE() DEDUPFS_NO_THREAD_SAFETY_ANALYSIS;

  Mutex mutex_;
  ConditionVariable changed_;
  std::uint64_t inside_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  bool closed_ DEDUPFS_GUARDED_BY(mutex_) = false;
};

}  // namespace dedupfs
