// A filesystem on a recording disk, driven beside a model: what it did to the disk, and which states of the tree a crash
// may leave at each moment.
//
// Failure: without faults, whatever does not go as the model says goes to `problems`. With faults operations may fail, but
// must then have done nothing or everything. RunEnded is thrown where the run cannot go on.
// Threads: one at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crash/tree.h"
#include "fs/filesystem_model.h"
#include "fs/namespace/filesystem.h"
#include "store/seal/volume_key.h"
#include "support/memory_disk.h"

namespace dedupfs {

inline constexpr std::string_view kVolumePath = "/volume";

// What a run leaves to those who judge it. Acknowledgements are kept here, outside of the store.
struct History {
  DiskImage start;
  std::vector<DiskEvent> events;
  std::vector<std::string> states;  // the tree before the first operation and after each
  std::vector<std::size_t> begun;   // events when operation i + 1, which leads to states[i + 1], began
  struct Acknowledgement {
    std::size_t events;  // on the disk when it came
    std::size_t state;   // which is durable, or a later one
  };
  std::vector<Acknowledgement> acknowledgements;
  std::vector<std::string> problems;
  std::size_t errors = 0;     // that were reported to the caller
  bool from_nothing = false;  // it made the volume: up to the first acknowledgement there may be none

  struct Range {
    std::size_t first, last;  // of states
  };
  Range allowed_at(std::size_t position) const;
};

struct RunEnded {};

enum class Sealing { kPlain, kEncrypted };

class RecordedRun;

// What goes on beside a run. It is told on the thread of the run, while no operation runs.
class RunCompanion {
 public:
  virtual ~RunCompanion() = default;
  virtual void opened(RecordedRun& run) = 0;
  // The last of history().states is durable.
  virtual void acknowledged(RecordedRun& run) = 0;
  virtual void closing() = 0;  // or lost in a crash: the filesystem is there for the last time
};

struct RunOptions {
  bool faults = false;
  std::chrono::milliseconds commit_interval = std::chrono::hours(1);
  unsigned defragment_percent = 0;
  Sealing sealing = Sealing::kPlain;  // of a volume that the run makes
  RunCompanion* companion = nullptr;  // null: nothing
  // The disk through which the volume is opened. Empty: the disk in memory itself.
  std::function<std::shared_ptr<Backing>(const std::shared_ptr<MemoryDisk>&)> seen_through;
};

// A new volume with small regions and containers, mounted once.
DiskImage make_small_volume(Sealing sealing = Sealing::kPlain);
Sealing sealing_of(const DiskImage& volume);
// The disk, as those see it who have the passphrase of make_small_volume().
std::shared_ptr<Backing> unlocked(const std::shared_ptr<Backing>& disk);
// Null: nobody can open it.
std::shared_ptr<const VolumeKey> key_of(const DiskImage& volume);
Result<std::unique_ptr<Filesystem>> open_filesystem(const std::shared_ptr<MemoryDisk>& disk,
                                                    const RunOptions& options = {});

class RecordedRun {
 public:
  RecordedRun(DiskImage start, const RunOptions& options);

  MemoryDisk& disk() { return *disk_; }
  const History& history() const { return history_; }
  Filesystem& filesystem() { return *filesystem_; }
  FilesystemModel& model() { return model_; }
  ModelPtr root() const { return model_.root(); }

  // For a run on an empty disk.
  void make_volume();
  void open();
  void close();
  void reopen();
  // Closes, makes a new master key for an encrypted volume, with a new passphrase, and opens again.
  void rotate_key();
  void sync();
  // Operations in between run beside the reclaim.
  void begin_reclaim(ReclaimGoal goal = ReclaimGoal::kFreeSpace);
  void await_reclaim();
  void sync_file(const ModelPtr& node);
  // What is there already, or is not there, is left alone. Nodes of before a rollback are nobody's.
  void create_snapshot(const std::string& name);
  void delete_snapshot(const std::string& name);
  void roll_back(const std::string& name);
  // From now on operations may fail, as in a run with faults.
  void tolerate_errors(bool tolerate) { tolerates_errors_ = tolerate; }

  // Null if it failed.
  ModelPtr make_file(const ModelPtr& parent, const std::string& name);
  ModelPtr make_directory(const ModelPtr& parent, const std::string& name);
  ModelPtr make_symlink(const ModelPtr& parent, const std::string& name, const std::string& target);
  void write(const ModelPtr& file, std::size_t offset, const std::string& bytes);
  void truncate(const ModelPtr& file, std::size_t size);
  void punch(const ModelPtr& file, std::size_t offset, std::size_t length);
  void copy_range(const ModelPtr& from, std::size_t from_offset, const ModelPtr& to, std::size_t to_offset,
                  std::size_t length);
  void clone(const ModelPtr& file, const ModelPtr& parent, const std::string& name);
  void link(const ModelPtr& node, const ModelPtr& parent, const std::string& name);
  void unlink(const ModelPtr& parent, const std::string& name);
  void remove_directory(const ModelPtr& parent, const std::string& name);
  void rename(const ModelPtr& from, const std::string& name, const ModelPtr& to, const std::string& new_name,
              Filesystem::RenameMode mode = Filesystem::RenameMode::kReplace);
  void set_mode(const ModelPtr& node, std::uint32_t mode, std::uint32_t uid);
  void set_xattr(const ModelPtr& node, const std::string& name, const std::string& value);
  // Of the whole tree, with a limit that nothing reaches. The model knows nothing of quotas: check_namespace() compares the sums.
  void set_quota(std::uint64_t files);
  void remove_quota();

  // Ends the run without closing, as a crash does, or after close().
  History finish();

 private:
  // One operation: `change` does to the model what `real` does to the filesystem.
  bool step(const std::string& what, const std::function<Result<void>()>& real, const std::function<void()>& change);
  ModelPtr make(const ModelPtr& parent, const std::string& name, std::uint32_t mode, const std::string& content,
                const std::function<Result<Attributes>()>& real);
  bool acknowledge(const std::string& what, const Result<void>& result);
  void acknowledge_open(const std::string& what, const Result<void>& result);
  void failed(const std::string& what, const Error& error);
  void remember_tree();

  const RunOptions options_;
  bool tolerates_errors_ = options_.faults;
  std::shared_ptr<MemoryDisk> disk_;
  std::unique_ptr<Filesystem> filesystem_;
  struct Snapshot {
    FilesystemModel model;
    std::string tree;  // as it was then
  };

  FilesystemModel model_;
  std::map<std::string, Snapshot> snapshots_;
  int rotations_ = 0;  // of the master key
  History history_;
};

}  // namespace dedupfs
