// dedupfs-bench(1) without its process: arguments in, text and an exit code out.
#pragma once

#include <ostream>

#include "bench/command.h"

namespace dedupfs::bench {

int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace dedupfs::bench
