// The gate that operations pass while a transaction group is open, and that closes for a moment when the group ends, so
// that a group never holds half an operation. Unlike std::shared_mutex, whoever closes it is not starved by newcomers.
//
// Threads: every function from any thread. An operation enters once and never waits for another operation inside; it
// must not enter twice (the second entry would wait for a closing gate that waits for the first).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace dedupfs {

class QuiesceGate {
 public:
  class Pass {
   public:
    explicit Pass(QuiesceGate& gate) : gate_(gate) { gate_.enter(); }
    ~Pass() { gate_.leave(); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    QuiesceGate& gate_;
  };

  class Closure {  // returns when everybody has left; opens the gate again at the end of its scope
   public:
    explicit Closure(QuiesceGate& gate) : gate_(gate) { gate_.close(); }
    ~Closure() { gate_.open(); }
    Closure(const Closure&) = delete;
    Closure& operator=(const Closure&) = delete;

   private:
    QuiesceGate& gate_;
  };

 private:
  void enter();
  void leave();
  void close();
  void open();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t inside_ = 0;
  bool closed_ = false;
};

}  // namespace dedupfs
