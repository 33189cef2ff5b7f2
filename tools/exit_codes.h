// The exit codes of the tools, as their man pages have them. Those of mount(8) and fsck(8) are with what decides about them, in
// mount/daemon/daemon.h and fs/check/fsck.h; dedupfs-bench has its own, in bench/command.h.
#pragma once

#include <string_view>

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
inline constexpr int kUnmountFailed = 32;      // it is mounted as before
inline constexpr int kUnmountUnfinished = 64;  // it is unmounted, but nobody knows yet that all is durable

// The help of the option of that name.
inline constexpr std::string_view kForeignHelp = "as root: trust others who own the volume or can write to it";

}  // namespace dedupfs
