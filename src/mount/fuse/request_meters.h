// The requests of the kernel, counted by kind: how many, how long until the answer, errors, bytes of content.
//
// Threads: every function from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/meter.h"
#include "base/result.h"

namespace dedupfs {

enum class RequestKind : std::uint8_t {
  kLookup,
  kForget,
  kGetattr,
  kSetattr,
  kReadlink,
  kMknod,
  kMkdir,
  kUnlink,
  kRmdir,
  kSymlink,
  kRename,
  kLink,
  kOpen,
  kRead,
  kWrite,
  kFlush,
  kRelease,
  kFsync,
  kOpendir,
  kReaddir,
  kReleasedir,
  kFsyncdir,
  kStatfs,
  kSetxattr,
  kGetxattr,
  kListxattr,
  kRemovexattr,
  kCreate,
  kFallocate,
  kLseek,
  kCopyFileRange,
};

class RequestMeters {
 public:
  static constexpr std::array<std::string_view, 31> kNames = {
      "lookup",   "forget",    "getattr",     "setattr", "readlink",   "mknod",    "mkdir",          "unlink",
      "rmdir",    "symlink",   "rename",      "link",    "open",       "read",     "write",          "flush",
      "release",  "fsync",     "opendir",     "readdir", "releasedir", "fsyncdir", "statfs",         "setxattr",
      "getxattr", "listxattr", "removexattr", "create",  "fallocate",  "lseek",    "copy_file_range"};

  // Of the kinds that ever came.
  std::vector<Named<RequestMeter::Reading>> readings() const;
  // Requests that have no answer yet.
  std::uint64_t running() const { return running_.load(std::memory_order_relaxed); }
  // The time for which they have been counted.
  MeterClock::duration age() const { return MeterClock::now() - began_; }

 private:
  friend class MeteredRequest;

  std::array<RequestMeter, kNames.size()> meters_;
  std::atomic<std::uint64_t> running_ = 0;
  const MeterClock::time_point began_ = MeterClock::now();
};

// One request. It is counted when the last who shares it lets go: the thread that it came to, or a task that answers it later.
//
// Threads: one at a time.
class MeteredRequest {
 public:
  // Null if there is no memory for it: then it is not counted.
  static std::shared_ptr<MeteredRequest> begin(RequestMeters& meters, RequestKind kind) noexcept;
  MeteredRequest(RequestMeters& meters, RequestKind kind);
  ~MeteredRequest();
  MeteredRequest(const MeteredRequest&) = delete;
  MeteredRequest& operator=(const MeteredRequest&) = delete;

  // That there is nothing of that name is an answer like others, and no error here.
  void note_error(ErrorCode code) noexcept;
  void note_bytes(std::uint64_t bytes) noexcept { bytes_ += bytes; }

 private:
  RequestMeters& meters_;
  const RequestKind kind_;
  const MeterClock::time_point began_ = MeterClock::now();
  bool is_error_ = false;
  std::uint64_t bytes_ = 0;
};

// The request that a thread works on, as long as this object exists. So who answers it can note the answer, without being handed the
// request by every function in between.
class CurrentRequest {
 public:
  explicit CurrentRequest(std::shared_ptr<MeteredRequest> request) noexcept;
  ~CurrentRequest();
  CurrentRequest(const CurrentRequest&) = delete;
  CurrentRequest& operator=(const CurrentRequest&) = delete;

  // That of the calling thread, for a task that answers it. Null: there is none, or it is not counted.
  static std::shared_ptr<MeteredRequest> get() noexcept;

 private:
  const std::shared_ptr<MeteredRequest> request_;
  const CurrentRequest* const before_;
};

}  // namespace dedupfs
