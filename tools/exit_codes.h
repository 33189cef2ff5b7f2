// The exit codes of the tools, as their man pages document them. Those of mount(8), fsck(8) and dedupfs-bench(1) are in
// mount/options/mount_request.h, fs/check/fsck.h and bench/command.h.
#pragma once

#include <string_view>

namespace dedupfs {

inline constexpr int kDone = 0;
inline constexpr int kUsageError = 1;
inline constexpr int kFailed = 2;      // or the volume, or its daemon, refused
inline constexpr int kUnfinished = 3;  // stopped before its end, or still running when the wait was interrupted
inline constexpr int kDamaged = 4;     // damage was found

inline constexpr int kStatFailed = 1;  // dedupfs-stat, for every failure

// of mkfs(8)
inline constexpr int kMkfsOperationalError = 8;
inline constexpr int kMkfsUsageError = 16;

// of umount(8)
inline constexpr int kMountedElsewhere = 16;   // unmounted here, and all is durable; the daemon serves another place
inline constexpr int kUnmountFailed = 32;      // still mounted as before
inline constexpr int kUnmountUnfinished = 64;  // unmounted, but it is not certain that all is durable

// The help text of --foreign.
inline constexpr std::string_view kForeignHelp = "as root: accept a volume that other users own or can write to";

}  // namespace dedupfs
