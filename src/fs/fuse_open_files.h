// The files that are open through FUSE, and what the glue must know of each.
//
// A file can be open directly and through the kernel's page cache at once. The kernel drops the cached pages when a direct
// handle opens; from then until the last direct handle is closed, a direct write must drop what it made stale if anybody may
// have cached it since.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "fs/types.h"

namespace dedupfs {

// Sees a sequential reader by its requests, and says what to load ahead of it. The kernel's own read-ahead sends several
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
  static constexpr std::uint64_t kSmallestWindow = 2 << 20;
  static constexpr std::uint64_t kLargestWindow = 8 << 20;
  static constexpr std::uint64_t kSlack = 4
                                          << 20;  // how far from the expected place a request still belongs to the run

  std::optional<Range> on_read(std::uint64_t offset, std::uint64_t length);

 private:
  std::mutex mutex_;
  std::uint64_t run_end_ = 0;     // behind the furthest request of this run
  std::uint64_t run_bytes_ = 0;   // asked for in this run
  std::uint64_t loaded_end_ = 0;  // behind what was asked to be loaded
  std::uint64_t window_ = kSmallestWindow;
};

// How an inode is open. Shared by its handles.
struct InodeUse {
  std::uint32_t direct = 0;  // handles; guarded by OpenFiles
  std::uint32_t cached = 0;
  std::uint32_t writers = 0;
  // Direct writes must drop what the kernel has cached. Set before the open that may cache is answered.
  std::atomic<bool> invalidate_writes{false};
};

struct OpenFile {
  InodeNumber inode = 0;
  bool direct = false;
  bool writer = false;
  std::shared_ptr<InodeUse> use;
  ReadAhead read_ahead;
};

// Threads:   every function from any thread.
// Ownership: the caller owns the handle between open() and close().
class OpenFiles {
 public:
  std::unique_ptr<OpenFile> open(InodeNumber inode, bool direct, bool writer);
  void close(std::unique_ptr<OpenFile> file);

  bool has_writer(InodeNumber inode) const;
  // The kernel has cached something of the inode that writes by direct handles change behind its back.
  void invalidate_writes(InodeNumber inode);

 private:
  mutable std::mutex mutex_;
  std::unordered_map<InodeNumber, std::shared_ptr<InodeUse>> inodes_;
};

}  // namespace dedupfs
