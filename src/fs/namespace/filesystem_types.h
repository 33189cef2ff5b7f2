// Options, arguments and answers of the Filesystem. Plain values, but for DirectoryStream.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "fs/format/directory_entry.h"
#include "fs/snapshots/snapshot_types.h"

namespace dedupfs {

struct FilesystemOptions {
  std::chrono::milliseconds commit_interval{5000};
  std::chrono::milliseconds checkpoint_interval{600'000};  // at least between two checkpoints; 0: none
  std::uint64_t dirty_bytes = 256 << 20;                   // cap for file data not yet stored
  std::uint64_t group_bytes =
      64 << 20;  // of metadata; a commit starts here, and groups take four times as much at most
  enum class Atime { kRelative, kNever, kAlways } atime = Atime::kRelative;
  // What works in the background waits so long for a commit that others want, before it wants one: each holds everybody up.
  std::chrono::milliseconds background_patience{2000};
  unsigned defragment_percent = 0;  // of what is written, chunks of so much may be stored once more (defragmenter.h)
  using SnapshotAccess = dedupfs::SnapshotAccess;
  SnapshotAccess snapshot_access = SnapshotAccess::kVisible;
};

// The last two leave a whiteout at the old name, a character device 0:0 of the caller, in the same change.
enum class RenameMode { kReplace, kNoReplace, kExchange, kWhiteout, kWhiteoutNoReplace };
enum class XattrMode { kSet, kCreate, kReplace };
enum class AllocateMode { kExtend, kKeepSize, kPunchHole, kZeroRange, kZeroRangeKeepSize };
enum class AccessTime { kByPolicy, kKept };  // kKept: O_NOATIME

// What a directory stream, as opendir(3) begins one, remembers between reads.
struct DirectoryStream {
  // Entries from this cookie on came later and are not shown, so that the stream ends while names are added. Reading from the
  // start sets it anew; 0: not set yet.
  std::atomic<std::uint64_t> end{0};
  bool notes_access = true;  // false: opened with O_NOATIME
};

struct SpaceReport {
  std::uint64_t total_bytes = 0;      // what the volume takes (about a second ago), and what is available
  std::uint64_t available_bytes = 0;  // for file data; what metadata needs to delete and commit is held back
  std::uint64_t inodes = 0;           // in use
};

// What a clone has.
struct CloneTotals {
  std::uint64_t files = 0;
  std::uint64_t directories = 0;
  std::uint64_t others = 0;  // symbolic links and special files
  std::uint64_t bytes = 0;   // the sizes of the files
};

}  // namespace dedupfs
