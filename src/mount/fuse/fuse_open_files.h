// The files that are open through FUSE, and their state.
//
// A file can be written past the kernel's page cache and read through it at once. Such a write must drop the stale
// pages, unless the kernel has none. The kernel has none if the first handle of an inode is for direct writes: its open drops all
// pages, and every request that fills pages again is noted (docs/read-path.md, "The kernel's page cache").
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/mutex.h"
#include "fs/format/types.h"

namespace dedupfs {

// Recognises a sequential reader by its requests, and says which range to load ahead of it. The kernel's own read-ahead sends several
// requests at once, which arrive out of order.
//
// Threads: every function from any thread.
class ReadAhead {
 public:
  struct Range {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;

    bool operator==(const Range&) const = default;
  };
  static constexpr std::uint64_t kMinWindow = 2 << 20;
  static constexpr std::uint64_t kMaxWindow = 8 << 20;
  static constexpr std::uint64_t kSlack = 4
                                          << 20;  // how far from the expected place a request still belongs to the run

  std::optional<Range> on_read(std::uint64_t offset, std::uint64_t length);

 private:
  Mutex mutex_;
  std::uint64_t run_end_ DEDUPFS_GUARDED_BY(mutex_) = 0;     // behind the furthest request of this run
  std::uint64_t run_bytes_ DEDUPFS_GUARDED_BY(mutex_) = 0;   // asked for in this run
  std::uint64_t loaded_end_ DEDUPFS_GUARDED_BY(mutex_) = 0;  // end of the requested load
  std::uint64_t window_ DEDUPFS_GUARDED_BY(mutex_) = kMinWindow;
};

// The open mode of a handle. libfuse gives the flags of a file only with open, read and write, so they are remembered here.
struct OpenMode {
  bool direct = false;    // with FOPEN_DIRECT_IO: the kernel uses its page cache for mappings only
  bool o_direct = false;  // with the caller's O_DIRECT, which fcntl can set and take away later
  bool writer = false;
  bool durable = false;  // O_DSYNC: a change of the content is durable when it returns
};

// How an inode is open. Shared by its handles.
struct InodeUse {
  std::uint32_t handles = 0;  // guarded by OpenFiles
  std::uint32_t writers = 0;
  // The kernel may have pages of the inode, or attributes that a direct write changes: such a write must drop them.
  std::atomic<bool> kernel_caches{false};
  // There are direct writes that do not exclude writes through the cache: the kernel does not hold the inode until they end.
  std::atomic<bool> async_writes{false};

  // Call it for every request that fills pages, before it reads the content: a write that this request misses comes later and finds
  // the mark.
  void note_cached() {
    if (!kernel_caches) kernel_caches = true;
  }
};

struct OpenFile {
  InodeNumber inode = 0;
  OpenMode mode;
  bool drops_pages = false;  // the kernel must drop all pages of the inode at this open
  std::shared_ptr<InodeUse> use;
  ReadAhead read_ahead;
};

// Threads:   every function from any thread.
// Ownership: the caller owns the handle between open() and close().
class OpenFiles {
 public:
  std::unique_ptr<OpenFile> open(InodeNumber inode, const OpenMode& mode);
  void close(std::unique_ptr<OpenFile> file);

  bool has_writer(InodeNumber inode) const;
  // Notes that the kernel has cached data or attributes that direct writes change without it.
  void note_cached(InodeNumber inode);

 private:
  mutable Mutex mutex_;
  std::unordered_map<InodeNumber, std::shared_ptr<InodeUse>> inodes_ DEDUPFS_GUARDED_BY(mutex_);
};

}  // namespace dedupfs
