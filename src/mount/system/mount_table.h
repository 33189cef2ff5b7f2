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
  std::string source;  // of dedupfs: the absolute path of the volume, or its address in a bucket
  std::string mount_options;
  std::optional<uid_t> user;  // of FUSE: the user of the daemon, from the kernel

  // Of dedupfs: no folder of this machine has the volume, so it has no lock and no control socket here.
  bool is_in_bucket() const { return !Path(source).is_absolute(); }
  bool is_read_only() const;
};

// Whether these are entries of one mount, which may have several mountpoints. The kernel gives the number of a device to another filesystem as soon as
// the mount is gone, so it alone says nothing.
bool is_same_mount(const MountEntry& one, const MountEntry& other);

// `mountinfo` is in the format of /proc/self/mountinfo, see proc(5).
Result<std::vector<MountEntry>> read_mount_table(const char* mountinfo = "/proc/self/mountinfo");

// Whether the mount really is of the volume that it names. Ordinary users choose type and source of their FUSE mounts freely. So
// only mounts of root, of the owner of the volume, and of the calling user are credible.
bool is_credible(const MountEntry& entry);

// The topmost mount of dedupfs at this mountpoint, or the topmost credible one of this volume; the path must be canonical.
std::optional<MountEntry> find_dedupfs_mount(const std::vector<MountEntry>& table, const Path& path);
// The mount at this path or nearest above it; the path must be canonical.
std::optional<MountEntry> find_dedupfs_mount_above(const std::vector<MountEntry>& table, const Path& path);
// The mount whose files have this device number (st_dev). kAccessDenied if it is not credible; kInvalidArgument if it is no dedupfs mount.
Result<MountEntry> get_dedupfs_mount(const std::vector<MountEntry>& table, dev_t device);

// The path itself if it is a volume, else the volume that is mounted at it or above it. kAccessDenied if that mount is not
// credible. Waits, and says so, for a filesystem that does not answer.
Result<Path> find_volume(const Path& given);
// The same for operations on a whole volume: refuses a folder below the mountpoint or within the volume.
Result<Path> find_whole_volume(const Path& given);

// An absolute path without symbolic links, "." and "..", made without access to a filesystem mounted at the path itself (it may
// be dead). Waits for other filesystems that do not answer, and says so.
Result<Path> canonical_mountpoint(const Path& path);

}  // namespace dedupfs
