// The lock of one file's content.
//
// Its mutex guards all layers of the content. A reader holds it while it finds out where bytes are. A thread of the chunk store
// holds it while it notes what has landed. An operation that changes the content is Exclusive from its start to its end.
//
// Threads: every function from any thread.
#pragma once

#include <condition_variable>
#include <mutex>

namespace dedupfs {

class ContentLock {
 public:
  using Held = std::unique_lock<std::mutex>;

  [[nodiscard]] Held hold() const { return Held(mutex_); }
  // Waits until `is_true`, which is asked again after each notify_all().
  template <class Predicate>
  void wait(Held& held, const Predicate& is_true) {
    changed_.wait(held, is_true);
  }
  void notify_all() { changed_.notify_all(); }

  // One changing operation at a time; readers, and results of the chunk store, go on beside it. Whoever is inside may let go
  // of the mutex: nobody else changes the recipe, but for results of its own stream, nor the dirty extents.
  class Exclusive {
   public:
    explicit Exclusive(ContentLock& lock) : lock_(lock), held_(lock.hold()) {
      lock_.wait(held_, [this] { return !lock_.busy_; });
      lock_.busy_ = true;
    }
    ~Exclusive() {
      if (!held_.owns_lock()) held_.lock();
      lock_.busy_ = false;
      lock_.notify_all();
    }
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;
    Held& held() { return held_; }

   private:
    ContentLock& lock_;
    Held held_;
  };

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool busy_ = false;
};

}  // namespace dedupfs
