#include "fs/transactions/quiesce_gate.h"

#include "base/check.h"

namespace dedupfs {

void QuiesceGate::enter() {
  const MutexLock lock(mutex_);
  changed_.wait(mutex_, [&]() DEDUPFS_REQUIRES(mutex_) { return !closed_; });
  ++inside_;
}

void QuiesceGate::leave() {
  bool last_before_closure = false;
  {
    const MutexLock lock(mutex_);
    DEDUPFS_CHECK(inside_ > 0);  // each leave() follows an enter()
    last_before_closure = --inside_ == 0 && closed_;
  }
  if (last_before_closure) changed_.notify_all();
}

void QuiesceGate::close() {
  const MutexLock lock(mutex_);
  changed_.wait(mutex_, [&]() DEDUPFS_REQUIRES(mutex_) { return !closed_; });  // one closure at a time
  closed_ = true;
  changed_.wait(mutex_, [&]() DEDUPFS_REQUIRES(mutex_) { return inside_ == 0; });
}

void QuiesceGate::open() {
  {
    const MutexLock lock(mutex_);
    closed_ = false;
  }
  changed_.notify_all();
}

}  // namespace dedupfs
