// Options, arguments and answers of the Filesystem. Plain values, except DirectoryStream.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "fs/background/settle_mode.h"
#include "fs/format/directory_entry.h"
#include "fs/history/history_keeper.h"
#include "fs/snapshots/snapshot_types.h"
#include "fs/snapshots/volume_time.h"

namespace dedupfs {

struct FilesystemOptions {
  std::chrono::milliseconds commit_interval{5000};
  std::chrono::milliseconds checkpoint_interval{600'000};  // at least between two checkpoints; 0: none
  std::uint64_t dirty_bytes = 256 << 20;                   // cap for file data not yet stored
  std::uint64_t group_bytes =
      64 << 20;  // of metadata; a commit starts here, and groups take four times as much at most
  enum class Atime { kRelative, kNever, kAlways } atime = Atime::kRelative;
  // What a single change may take that has to be one group. A change that would need more is refused.
  std::function<std::uint64_t()> spare_memory = [] { return UINT64_MAX; };
  // Background work waits so long for a commit that others request, before it requests one itself: each commit delays
  // everybody.
  std::chrono::milliseconds background_patience{2000};
  SettleMode settle = SettleMode::kOff;
  unsigned settle_cpu_percent = 100;  // the share of the time in which it works
  unsigned gather_percent = 100;      // what settling gathers may take, of what was stored since it gathered last
  unsigned payback_months = 3;        // in which a reclaim wants back what it pays for fetching from a bucket
  std::chrono::hours least_container_age{0};  // before a reclaim stores anew what is in a container
  unsigned defragment_percent = 0;            // the share of written data that may be stored again (defragmenter.h)
  HoldClocks hold_clocks;                     // of held snapshots
  std::optional<HistorySettings> history;     // none: this mount takes no samples
  using SnapshotAccess = dedupfs::SnapshotAccess;
  SnapshotAccess snapshot_access = SnapshotAccess::kVisible;
};

// In the same change, the last two leave a whiteout at the old name: a character device 0:0 of the caller.
enum class RenameMode { kReplace, kNoReplace, kExchange, kWhiteout, kWhiteoutNoReplace };
enum class XattrMode { kSet, kCreate, kReplace };
enum class AllocateMode { kExtend, kKeepSize, kPunchHole, kZeroRange, kZeroRangeKeepSize };
enum class AccessTime { kByPolicy, kKept };  // kKept: O_NOATIME

// The state of a directory stream (opendir(3)) between reads.
struct DirectoryStream {
  // Entries from this cookie on were added later, and the stream does not show them. So it ends even if names are added all the
  // time. A read from the start sets it again. 0: not set yet.
  std::atomic<std::uint64_t> end{0};
  bool notes_access = true;  // false: opened with O_NOATIME
};

struct SpaceReport {
  std::uint64_t total_bytes = 0;      // what the volume took and what was available, both about a second ago
  std::uint64_t available_bytes = 0;  // for file data, without the reserve for metadata of deletions and commits
  std::uint64_t disk_bytes = 0;       // the size of the disk, which others use, too
  std::uint64_t inodes = 0;           // in use
};

// The space of a tree with a quota: its limit, and what is left of it.
struct TreeSpace {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t available_bytes = 0;  // the free bytes, as far as the disk has room
  std::uint64_t inodes = 0;           // in use
  std::uint64_t free_inodes = 0;
};

// The contents of a clone.
struct CloneTotals {
  std::uint64_t files = 0;
  std::uint64_t directories = 0;
  std::uint64_t others = 0;  // symbolic links and special files
  std::uint64_t bytes = 0;   // the sizes of the files
};

}  // namespace dedupfs
