// The locks of the project: those of the standard library, with the annotations that let clang check who holds which lock
// (thread_annotations.h). They cost what the locks below them cost.
//
// Threads:   safe from any thread; a lock is released by the thread that took it. None is recursive.
// Ownership: MutexLock and its like hold a lock until their end. The lock must outlive them.
// Failure:   none; like std::mutex, locking throws std::system_error only for errors that a correct program cannot have.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/thread_annotations.h"

namespace dedupfs {

class DEDUPFS_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  // The names of the standard library, so that std::lock() and the like take one.
  void lock() DEDUPFS_ACQUIRE() { native_.lock(); }
  bool try_lock() DEDUPFS_TRY_ACQUIRE(true) { return native_.try_lock(); }
  void unlock() DEDUPFS_RELEASE() { native_.unlock(); }

  // Tells the analysis what it cannot see: this thread holds the lock. Does nothing.
  void assert_held() const DEDUPFS_ASSERT_CAPABILITY(this) {}

 private:
  friend class ConditionVariable;
  std::mutex native_;
};

// Many readers or one writer.
class DEDUPFS_CAPABILITY("shared mutex") SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void lock() DEDUPFS_ACQUIRE() { native_.lock(); }
  bool try_lock() DEDUPFS_TRY_ACQUIRE(true) { return native_.try_lock(); }
  void unlock() DEDUPFS_RELEASE() { native_.unlock(); }

  void lock_shared() DEDUPFS_ACQUIRE_SHARED() { native_.lock_shared(); }
  bool try_lock_shared() DEDUPFS_TRY_ACQUIRE_SHARED(true) { return native_.try_lock_shared(); }
  void unlock_shared() DEDUPFS_RELEASE_SHARED() { native_.unlock_shared(); }

  // As Mutex::assert_held().
  void assert_held() const DEDUPFS_ASSERT_CAPABILITY(this) {}
  void assert_held_shared() const DEDUPFS_ASSERT_SHARED_CAPABILITY(this) {}

 private:
  std::shared_mutex native_;
};

// Holds a Mutex.
class DEDUPFS_SCOPED_CAPABILITY [[nodiscard]] MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) DEDUPFS_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  // For a mutex that this thread holds already, as after try_lock().
  MutexLock(Mutex& mutex, std::adopt_lock_t /*held*/) DEDUPFS_REQUIRES(mutex) : mutex_(mutex) {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() DEDUPFS_RELEASE() { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};

// Lets go of a Mutex that this thread holds, until the end of the scope, also if that ends by an exception. For work in the middle of
// a MutexLock that others must not wait for.
class DEDUPFS_SCOPED_CAPABILITY [[nodiscard]] MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) DEDUPFS_RELEASE(mutex) : mutex_(mutex) { mutex_.unlock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;
  ~MutexUnlock() DEDUPFS_RELEASE() { mutex_.lock(); }  // ends the release: the analysis takes it as ACQUIRE

 private:
  Mutex& mutex_;
};

// Holds a SharedMutex as one of its readers.
class DEDUPFS_SCOPED_CAPABILITY [[nodiscard]] ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) DEDUPFS_ACQUIRE_SHARED(mutex) : mutex_(mutex) { mutex_.lock_shared(); }
  ReaderLock(SharedMutex& mutex, std::adopt_lock_t /*held*/) DEDUPFS_REQUIRES_SHARED(mutex) : mutex_(mutex) {}
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;
  ~ReaderLock() DEDUPFS_RELEASE_GENERIC() { mutex_.unlock_shared(); }

 private:
  SharedMutex& mutex_;
};

// Holds a SharedMutex as its writer.
class DEDUPFS_SCOPED_CAPABILITY [[nodiscard]] WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) DEDUPFS_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  WriterLock(SharedMutex& mutex, std::adopt_lock_t /*held*/) DEDUPFS_REQUIRES(mutex) : mutex_(mutex) {}
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;
  ~WriterLock() DEDUPFS_RELEASE() { mutex_.unlock(); }

 private:
  SharedMutex& mutex_;
};

// A std::condition_variable. wait() releases the mutex while it sleeps, and holds it when it returns, as when the predicate runs.
class ConditionVariable {
 public:
  ConditionVariable() = default;
  ConditionVariable(const ConditionVariable&) = delete;
  ConditionVariable& operator=(const ConditionVariable&) = delete;

  void notify_one() noexcept { native_.notify_one(); }
  void notify_all() noexcept { native_.notify_all(); }

  // These two may return early: ask in a loop, or use the functions with a predicate.
  void wait(Mutex& mutex) DEDUPFS_REQUIRES(mutex) {
    Adopted lock(mutex);
    native_.wait(lock.native);
  }
  template <class Clock, class Duration>
  void wait_until(Mutex& mutex, std::chrono::time_point<Clock, Duration> end) DEDUPFS_REQUIRES(mutex) {
    Adopted lock(mutex);
    native_.wait_until(lock.native, end);
  }

  // A predicate that reads what the mutex guards is a lambda [..]() DEDUPFS_REQUIRES(mutex_) { .. }.
  template <class Predicate>
  void wait(Mutex& mutex, Predicate predicate) DEDUPFS_REQUIRES(mutex) {
    Adopted lock(mutex);
    native_.wait(lock.native, std::move(predicate));
  }

  // False: the time is over, and the predicate is still false.
  template <class Rep, class Period, class Predicate>
  bool wait_for(Mutex& mutex, std::chrono::duration<Rep, Period> time, Predicate predicate) DEDUPFS_REQUIRES(mutex) {
    Adopted lock(mutex);
    return native_.wait_for(lock.native, time, std::move(predicate));
  }
  template <class Clock, class Duration, class Predicate>
  bool wait_until(Mutex& mutex, std::chrono::time_point<Clock, Duration> end, Predicate predicate)
      DEDUPFS_REQUIRES(mutex) {
    Adopted lock(mutex);
    return native_.wait_until(lock.native, end, std::move(predicate));
  }

 private:
  // Lends a held mutex to the standard library, and takes it back at the end, held.
  struct Adopted {
    explicit Adopted(Mutex& mutex) : native(mutex.native_, std::adopt_lock) {}
    Adopted(const Adopted&) = delete;
    Adopted& operator=(const Adopted&) = delete;
    ~Adopted() { native.release(); }
    std::unique_lock<std::mutex> native;
  };

  std::condition_variable native_;
};

}  // namespace dedupfs
