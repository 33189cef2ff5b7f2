// What the commands of dedupfs-bench end with.
#pragma once

#include <ostream>

#include "base/result.h"

namespace dedupfs::bench {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;      // unreadable input, not enough memory, output not written
inline constexpr int kUsageError = 2;  // unknown option, chunker, instruction set; empty input
inline constexpr int kNoGnuplot = 3;   // --plot without gnuplot

// Says what is wrong; the exit code is by its kind.
int fail(std::ostream& err, const Error& error);

// The exit code of a command that has printed all it had to.
int written(std::ostream& out);

}  // namespace dedupfs::bench
