// The exit codes of the commands of dedupfs-bench.
#pragma once

#include "base/result.h"
#include "console.h"

namespace dedupfs::bench {

using tools::Console;

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;      // unreadable input, not enough memory, output not written
inline constexpr int kUsageError = 2;  // unknown option, chunker, instruction set; empty input
inline constexpr int kNoGnuplot = 3;   // --plot without gnuplot

// Says the error, as Console::fail(). Returns its exit code.
int fail(const Console& console, const Error& error);

}  // namespace dedupfs::bench
