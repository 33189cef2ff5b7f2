// A mount, as FUSE operations see it: filesystem, options, open files, and the caches of the kernel.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/thread_pool.h"
#include "fs/namespace/filesystem.h"
#include "fs/transactions/lock_order.h"
#include "fs/transactions/quiesce_gate.h"
#include "mount/fuse/fuse_api.h"
#include "mount/fuse/fuse_open_files.h"
#include "mount/fuse/kernel_connection.h"
#include "mount/fuse/public_answers.h"
#include "mount/fuse/request_copies.h"
#include "mount/fuse/request_meters.h"
#include "mount/options/mount_options.h"

namespace dedupfs {

// Bytes of a file; of length 0: from the offset to the end.
struct ContentRange {
  InodeNumber inode = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// The context of every operation of a mount: the user data of the session.
//
// Ownership: refers to the filesystem, which outlives it, and keeps those that replace() gives it.
// Threads:   operations run on libfuse's threads, side by side.
//
// Many functions: all that operations share and that is not of the filesystem.
class FuseMount {
 public:
  FuseMount(Filesystem& filesystem, const MountOptions& options)
      : filesystem_(std::shared_ptr<Filesystem>(), &filesystem),  // without owning it
        options_(options),
        sync_(options.sync),
        dirsync_(options.dirsync) {}

  // For requests, as long as they hold the gate. Where nothing is replaced, for everybody.
  Filesystem& filesystem() { return *filesystem_; }
  // For all others.
  std::shared_ptr<Filesystem> hold_filesystem() {
    if (!is_following()) return filesystem_;
    const MutexLock lock(filesystem_mutex_);
    return filesystem_;
  }
  bool is_following() const { return options_.remote_follow.count() != 0; }
  // From the next request on. Only if is_following().
  void replace(std::shared_ptr<Filesystem> next) DEDUPFS_REQUIRES(requests_) {
    const MutexLock lock(filesystem_mutex_);
    filesystem_.swap(next);
  }
  const MountOptions& options() const { return options_; }
  OpenFiles& open_files() { return open_files_; }
  RequestCopies& copies() { return copies_; }
  RequestMeters& request_meters() { return request_meters_; }

  // Changes are durable when they return: all of them (-o sync), or those of names (-o dirsync). A remount sets them again.
  bool is_sync() const { return sync_; }
  bool is_dirsync() const { return sync_ || dirsync_; }
  void set_synchronous(bool sync, bool dirsync) {
    sync_ = sync;
    dirsync_ = dirsync;
  }

  // What has happened is durable when they return: on the disk, and wherever else when_synced() says.
  Result<void> sync();
  Result<void> sync_file(InodeNumber inode);
  // Call it before the loop: what makes durable elsewhere what is durable on the disk.
  void when_synced(std::function<Result<void>()> replicate) { replicate_ = std::move(replicate); }

  // Call it before the loop: sets the work for the first request of the kernel.
  void when_connected(std::function<void()> connected) { connected_ = std::move(connected); }
  // Call it before the loop, once: what everybody may ask. `makers` may refer to this mount.
  void answer_publicly(const PublicAnswers::Makers& makers) {
    public_answers_ = std::make_unique<PublicAnswers>(makers);
  }
  PublicAnswers* public_answers() { return public_answers_.get(); }  // null: nothing is answered
  // Negotiates features with the kernel, and remembers the result.
  void negotiate(fuse_conn_info& connection);
  // The result, once the kernel has sent its first request.
  std::optional<KernelConnection> kernel_connection() {
    const MutexLock lock(session_mutex_);
    return connection_;
  }
  void connected() const { connected_(); }
  // Call it before the loop: sets the session for invalidations. `protocol` is that of libfuse, if it is known.
  void attach(fuse_session* session, std::optional<FuseProtocol> protocol = std::nullopt) {
    const MutexLock lock(session_mutex_);
    session_ = session;
    protocol_ = protocol;
  }
  // The number of the mount in the kernel's list of mounts, "MAJOR:MINOR", once it is there; empty until then.
  void set_device(std::string device) {
    const MutexLock lock(session_mutex_);
    device_ = std::move(device);
  }
  std::string device() {
    const MutexLock lock(session_mutex_);
    return device_;
  }
  // After the loop: ends the work for requests that goes on beside it.
  void finish_invalidations() {
    if (public_answers_) public_answers_->stop();
    invalidations_.reset();
    const MutexLock lock(session_mutex_);
    session_ = nullptr;
  }

  bool opens_directly(InodeNumber inode, int flags);
  // The same for a file that was made just now: it has no extended attributes but access lists.
  bool opens_directly(const Attributes& made, int flags) const;
  // With strictatime each open drops the cached pages, since the kernel does not report reads from its cache.
  bool notes_every_access() const { return options_.atime == FilesystemOptions::Atime::kAlways; }

  // Makes the kernel drop its cache of this range. It waits for readers there, whose requests need a free thread: never
  // call it on a thread of the loop. It also waits for writes through the cache: call it for one only after its answer.
  // It takes no lock, since it waits: the session is set before the loop, and stays until finish_invalidations().
  void invalidate(const ContentRange& range) DEDUPFS_NO_THREAD_SAFETY_ANALYSIS;
  // Makes the kernel forget names, attributes and content that changed without it. It waits as above, so requests must not be
  // held up.
  void invalidate(const std::vector<ChangedName>& changed);
  // Every request passes this gate. A thread that closes it has the filesystem alone.
  QuiesceGate& requests() DEDUPFS_RETURN_CAPABILITY(requests_) { return requests_; }
  // Runs `task`, which can be copied, on a thread for invalidations.
  template <class Task>
  void after_requests(const Task& task) {
    try {
      invalidations_->submit(task);
    } catch (const std::bad_alloc&) {
      task();  // no memory to queue it; other threads serve the readers that it waits for
    }
  }
  // Linux before 6.6: a direct write leaves cached pages, clean and dirty ones, as they are.
  bool kernel_keeps_pages() const { return kernel_minor_ < 39; }

 private:
  Mutex filesystem_mutex_;
  std::shared_ptr<Filesystem> filesystem_;  // changes with the mutex, while no request is served
  const MountOptions options_;
  std::atomic<bool> sync_;
  std::atomic<bool> dirsync_;
  OpenFiles open_files_;
  RequestCopies copies_;
  RequestMeters request_meters_;
  QuiesceGate requests_ DEDUPFS_ACQUIRED_AFTER(lock_order::requests) DEDUPFS_ACQUIRED_BEFORE(lock_order::renames);
  Mutex session_mutex_;
  fuse_session* session_ DEDUPFS_GUARDED_BY(session_mutex_) = nullptr;
  std::optional<FuseProtocol> protocol_ DEDUPFS_GUARDED_BY(session_mutex_);
  std::optional<KernelConnection> connection_ DEDUPFS_GUARDED_BY(session_mutex_);
  std::string device_ DEDUPFS_GUARDED_BY(session_mutex_);
  unsigned kernel_minor_ = 0;
  std::function<void()> connected_ = [] {};
  std::function<Result<void>()> replicate_ = [] { return Result<void>(); };
  // A few threads, so that one that waits for a slow read does not hold up writers of other files.
  std::unique_ptr<ThreadPool> invalidations_ = std::make_unique<ThreadPool>(4, "invalidate");
  std::unique_ptr<PublicAnswers> public_answers_;
};

}  // namespace dedupfs
