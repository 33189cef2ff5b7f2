// The command "dedupfs-bench delta": compares the delta codec with plain xdelta3.
#pragma once

#include <CLI/CLI.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "bench/delta_speed.h"

namespace dedupfs::bench {

struct DeltaArguments {
  std::string sizes = "8k,16k,64k";
  std::string sources = "1,5";
  DeltaOptions options;
  bool as_json = false;
  std::vector<std::string> inputs;
};

// Adds the command to the parser. Parsing fills `arguments`.
CLI::App& add_delta(CLI::App& app, DeltaArguments& arguments);

// Returns the exit code.
int run_delta(const DeltaArguments& arguments, std::ostream& out, std::ostream& err);

}  // namespace dedupfs::bench
