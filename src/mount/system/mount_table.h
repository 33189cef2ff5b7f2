// The kernel's list of mounts, read by libmount.
//
// Threads: values; free functions are safe from any thread.
// Failure: lines that do not parse are skipped; kIo when the list cannot be read.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs {

inline constexpr std::string_view kMountType = "fuse.dedupfs";

struct MountEntry {
  std::string device;  // "MAJOR:MINOR"
  Path mountpoint;
  std::string type;    // "fuse.dedupfs"
  std::string source;  // of dedupfs: the absolute path of the volume
  std::string mount_options;
  std::optional<uid_t> user;  // of FUSE: whose the daemon is; by the kernel's word
};

// `mountinfo` is in the format of /proc/self/mountinfo, see proc(5).
Result<std::vector<MountEntry>> read_mount_table(const char* mountinfo = "/proc/self/mountinfo");

// Whether the mount is of the volume that it names. Ordinary users choose type and source of their FUSE mounts freely, so
// only root, the owner of the volume and the user who asks are believed.
bool is_credible(const MountEntry& entry);

// The topmost mount of dedupfs at this mountpoint, or the topmost credible one of this volume; the path must be canonical.
std::optional<MountEntry> find_dedupfs_mount(const std::vector<MountEntry>& table, const Path& path);
// The one at this path or nearest above it; the path must be canonical.
std::optional<MountEntry> find_dedupfs_mount_above(const std::vector<MountEntry>& table, const Path& path);
// The one whose files have this device number (st_dev). kAccessDenied if it is not credible; kInvalidArgument if it is none.
Result<MountEntry> get_dedupfs_mount(const std::vector<MountEntry>& table, dev_t device);

// The path itself if it is a volume, else the volume that is mounted at it or above it. kAccessDenied if that mount is not
// credible. Waits, and says so, for a filesystem that does not answer.
Result<Path> find_volume(const Path& given);
// The same for those who act on all of it: a folder below the mountpoint, or within the volume, is refused.
Result<Path> find_whole_volume(const Path& given);

// An absolute path without symbolic links, "." and "..", made without asking a filesystem mounted at the path itself (it may
// be dead). Waits, and says so, for others that do not answer.
Result<Path> canonical_mountpoint(const Path& path);

}  // namespace dedupfs
