// The lock of one file's content.
//
// Its mutex guards all layers of the content. A reader holds it while it looks for the places of bytes. A thread of the chunk
// store holds it while it notes the result of a batch. An operation that changes the content is Exclusive from its start to its
// end.
//
// Threads: every function from any thread.
#pragma once

#include "base/mutex.h"
#include "fs/transactions/lock_order.h"

namespace dedupfs {

class ContentLock {
 public:
  // The proof that this thread has the mutex. Functions pass it on, and some release the mutex for a while. No analysis here:
  // it cannot follow a lock that an object carries from function to function.
  class [[nodiscard]] Held {
   public:
    explicit Held(const ContentLock& lock) : mutex_(lock.mutex_) { this->lock(); }
    ~Held() {
      if (owns_lock_) unlock();
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    // No analysis: see above.
    void lock() DEDUPFS_NO_THREAD_SAFETY_ANALYSIS {
      mutex_.lock();
      owns_lock_ = true;
    }
    // No analysis: see above.
    void unlock() DEDUPFS_NO_THREAD_SAFETY_ANALYSIS {
      owns_lock_ = false;
      mutex_.unlock();
    }
    bool owns_lock() const { return owns_lock_; }

   private:
    friend class ContentLock;
    Mutex& mutex_;
    bool owns_lock_ = false;
  };

  [[nodiscard]] Held hold() const { return Held(*this); }
  // Waits until `is_true`, which is asked again after each notify_all().
  template <class Predicate>
  void wait(Held& held, const Predicate& is_true) {
    held.mutex_.assert_held();
    changed_.wait(held.mutex_, is_true);
  }
  void notify_all() { changed_.notify_all(); }

  // One changing operation at a time. Readers, and results of the chunk store, go on beside it. The operation may release the
  // mutex: nobody else changes the dirty extents, and only results of its own stream change the recipe.
  class Exclusive {
   public:
    explicit Exclusive(ContentLock& lock) : lock_(lock), held_(lock.hold()) {
      lock_.wait(held_, [this] {
        lock_.mutex_.assert_held();
        return !lock_.busy_;
      });
      lock_.mutex_.assert_held();
      lock_.busy_ = true;
    }
    ~Exclusive() {
      if (!held_.owns_lock()) held_.lock();
      lock_.mutex_.assert_held();
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
  mutable Mutex mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::leaves);
  ConditionVariable changed_;
  bool busy_ DEDUPFS_GUARDED_BY(mutex_) = false;
};

}  // namespace dedupfs
