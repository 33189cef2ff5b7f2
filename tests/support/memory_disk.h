// A disk in memory that keeps a log of all that changes it, so that the states in which a crash would leave it can be made
// (crash_replay.h), and that fails where a test wants it to.
//
// Threads: MemoryDisk from any thread, its files too. Folders keep a disk that was made by make_shared alive; nothing else may
// outlive it. DiskImage is a value: copies share content.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/backing.h"

namespace dedupfs {

using FileId = std::uint64_t;
using SharedText = std::shared_ptr<const std::string>;

// What is on a disk: names, and the content of the files.
struct DiskImage {
  static constexpr FileId kDirectory = 0;

  std::map<std::string, FileId> names;  // absolute paths; "/" is always there
  std::map<FileId, SharedText> contents;
  FileId next_id = 1;

  DiskImage() { names["/"] = kDirectory; }
  std::uint64_t bytes() const;  // of the files that have a name
};

struct DiskEvent {
  enum class Kind {
    kCreate,  // file, path
    kWrite,   // file, offset, data
    kTruncate,
    kDatasync,
    kFailedDatasync,  // what was written since the last one will never become durable
    kRename,          // path, other
    kLink,
    kUnlink,
    kMakeDirectory,
    kRemoveDirectory,
    kSyncDirectory,
  };

  Kind kind;
  FileId file = 0;
  std::string path;
  std::string other;
  std::uint64_t offset = 0;  // or the new size
  SharedText data;
};

// Does to the image what the event says, as a disk without a crash.
void apply(DiskImage& image, const DiskEvent& event);

class MemoryDisk final : public Backing, public std::enable_shared_from_this<MemoryDisk> {
 public:
  explicit MemoryDisk(DiskImage image = {}) : image_(std::move(image)) {}

  // Asked before each call that changes or syncs ("open" only where it creates), and with "read" before each that reads.
  // An error makes the call fail; a write may put `partial_bytes` of its data on the disk all the same.
  struct Fault {
    Error error;
    std::size_t partial_bytes = 0;
  };
  using FaultSource = std::function<std::optional<Fault>(std::string_view operation, const Path& path)>;
  void set_fault(FaultSource fault);
  // While it lives no call of its thread fails: for those who look at what the faults did. In a FaultSource, which is asked by one
  // thread at a time otherwise, other threads may ask meanwhile.
  class FaultsPaused {
   public:
    FaultsPaused() {
      if (depth_++ == 0 && asking_ != nullptr) asking_->unlock();
    }
    ~FaultsPaused() {
      if (--depth_ == 0 && asking_ != nullptr) asking_->lock();
    }
    FaultsPaused(const FaultsPaused&) = delete;
    FaultsPaused& operator=(const FaultsPaused&) = delete;

   private:
    friend class MemoryDisk;
    static thread_local int depth_;
    static thread_local std::unique_lock<std::mutex>* asking_;  // of this thread, while it is in a FaultSource
  };

  void set_space(Space space);
  // From now on its files say that they are elsewhere (BackingFile::is_near()).
  void set_far() { is_far_ = true; }

  DiskImage image() const;
  std::size_t event_count() const;
  std::vector<DiskEvent> events() const;

  // Folders of this disk are named by their paths: one that is renamed is not found by those who have it open.
  Result<std::shared_ptr<BackingFolder>> open_root(const Path& path) override;

  // What the folders do, by absolute paths.
  Result<std::unique_ptr<BackingFile>> open(const Path& path, Mode mode);
  Result<void> rename(const Path& from, const Path& to);
  Result<void> link(const Path& from, const Path& to);
  Result<void> unlink(const Path& path);
  Result<void> make_directory(const Path& path);
  Result<void> remove_directory(const Path& path);
  Result<void> sync_directory(const Path& path);
  Result<std::vector<std::string>> list_directory(const Path& path);
  Result<Type> type(const Path& path);
  Result<Space> space();

 private:
  class File;
  class Folder;

  std::optional<Fault> ask(std::string_view operation, const Path& path) const;
  void log(DiskEvent event);  // and does it
  std::optional<FileId> find(const std::string& path) const;
  Result<void> require_parent(const std::string& path) const;
  bool is_empty(const std::string& directory) const;

  mutable std::mutex mutex_;
  mutable std::mutex fault_mutex_;
  FaultSource fault_;
  DiskImage image_;
  std::vector<DiskEvent> events_;
  Space space_{.total_bytes = std::uint64_t{1} << 40, .available_bytes = std::uint64_t{1} << 39};
  struct Lock {
    int shared = 0;
    bool exclusive = false;
  };
  std::map<FileId, Lock> locks_;
  std::atomic<bool> is_far_ = false;
};

}  // namespace dedupfs
