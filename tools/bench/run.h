// dedupfs-bench(1) without its process: arguments in, text and an exit code out.
#pragma once

#include <ostream>

namespace dedupfs::bench {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;      // unreadable input, not enough memory, output not written
inline constexpr int kUsageError = 2;  // unknown option, chunker, instruction set; empty input
inline constexpr int kNoGnuplot = 3;   // --plot without gnuplot

int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace dedupfs::bench
