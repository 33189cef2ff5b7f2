// The exit codes of the tools, as their man pages have them. Those of mount(8) and fsck(8) are with what decides about them, in
// fs/daemon.h and fs/fsck.h; dedupfs-bench has its own, in bench/command.h.
#pragma once

namespace dedupfs {

inline constexpr int kDone = 0;
inline constexpr int kUsageError = 1;
inline constexpr int kFailed = 2;      // or refused
inline constexpr int kUnfinished = 3;  // stopped before its end, or nobody waited for it
inline constexpr int kDamaged = 4;     // damage was found

inline constexpr int kStatFailed = 1;  // dedupfs-stat: whatever it was

// of mkfs(8)
inline constexpr int kMkfsOperationalError = 8;
inline constexpr int kMkfsUsageError = 16;

// of umount(8)
inline constexpr int kUnmountFailed = 32;

}  // namespace dedupfs
