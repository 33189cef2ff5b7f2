// Places where tests kill the process, as kill -9 does. They exist only in builds with the Meson option crash_points. In other
// builds a call does nothing.
//
// DEDUPFS_CRASH_AT=NAME[:N] in the environment kills the process when it passes NAME for the N-th time (the first, if N is
// not given). tests/crash/live/points.py knows each name, and how to reach it.
// Threads: any.
#pragma once

#include <string_view>

namespace dedupfs {

#ifdef DEDUPFS_CRASH_POINTS
void crash_point(std::string_view name);
#else
constexpr void crash_point(std::string_view) {}
#endif

}  // namespace dedupfs
