// The command "dedupfs-bench delta": compares the delta codec with plain xdelta3.
#pragma once

#include <string>
#include <vector>

#include "bench/command.h"
#include "bench/delta_speed.h"

namespace dedupfs::bench {

struct DeltaArguments {
  std::string sizes = "8k,16k,64k";
  std::string sources = "1,5";
  DeltaOptions options;
  std::vector<std::string> inputs;
};

// Adds the command to the parser. Parsing fills `arguments`.
tools::Command& add_delta(tools::Command& app, DeltaArguments& arguments);

// Returns the exit code.
int run_delta(const DeltaArguments& arguments, const Console& console);

}  // namespace dedupfs::bench
