// The command "dedupfs-bench resemble": the evaluation of the Odess+ paper, on any data.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/command.h"
#include "bench/resemble_accuracy.h"

namespace dedupfs::bench {

struct ResembleArguments {
  std::string methods = "all";
  std::string avgs = "4k,8k,16k";
  std::string isas = "all";
  std::string chunker = "fastcdc";
  std::string lengths = "8,32,128,512";
  std::string rates = "1,5,10,20";  // percent
  AccuracyOptions accuracy;         // without lengths and rates
  std::size_t repeat = 3;
  bool only_accuracy = false;
  std::string plot_folder;
  std::vector<std::string> inputs;
};

// Adds the command to the parser. Parsing fills `arguments`.
tools::Command& add_resemble(tools::Command& app, ResembleArguments& arguments);

// Returns the exit code.
int run_resemble(const ResembleArguments& arguments, const Console& console);

}  // namespace dedupfs::bench
