#include "fs/transactions/quiesce_gate.h"

#include "base/check.h"

namespace dedupfs {

void QuiesceGate::enter() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !closed_; });
  ++inside_;
}

void QuiesceGate::leave() {
  bool last_before_closure = false;
  {
    const std::lock_guard lock(mutex_);
    DEDUPFS_CHECK(inside_ > 0);  // whoever leaves has entered
    last_before_closure = --inside_ == 0 && closed_;
  }
  if (last_before_closure) changed_.notify_all();
}

void QuiesceGate::close() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !closed_; });  // one closure at a time
  closed_ = true;
  changed_.wait(lock, [&] { return inside_ == 0; });
}

void QuiesceGate::open() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = false;
  }
  changed_.notify_all();
}

}  // namespace dedupfs
