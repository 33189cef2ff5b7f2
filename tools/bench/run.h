// dedupfs-bench(1) without its process: arguments in, text and an exit code out.
#pragma once

#include <ostream>
#include <span>
#include <string>

#include "bench/command.h"

namespace dedupfs::bench {

// `arguments` are without the name of the program.
int run_bench(std::span<const std::string> arguments, std::ostream& out, std::ostream& err);

}  // namespace dedupfs::bench
