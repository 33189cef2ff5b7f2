// The exit codes of the commands of dedupfs-bench.
#pragma once

#include <ostream>

#include "base/result.h"

namespace dedupfs::bench {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;      // unreadable input, not enough memory, output not written
inline constexpr int kUsageError = 2;  // unknown option, chunker, instruction set; empty input
inline constexpr int kNoGnuplot = 3;   // --plot without gnuplot

// Prints the error. Returns its exit code.
int fail(std::ostream& err, const Error& error);

// Flushes the output at the end of a command. Returns its exit code.
int written(std::ostream& out, std::ostream& err);

}  // namespace dedupfs::bench
