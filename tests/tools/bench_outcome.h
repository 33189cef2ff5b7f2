// A run of dedupfs-bench, without its process.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "bench/run.h"

namespace dedupfs::bench {

struct Outcome {
  int exit_code;
  std::string out;
  std::string err;
};

inline Outcome bench(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv = {"dedupfs-bench"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::ostringstream out, err;
  const int exit_code = run(static_cast<int>(argv.size()), argv.data(), out, err);
  return {exit_code, out.str(), err.str()};
}

}  // namespace dedupfs::bench
