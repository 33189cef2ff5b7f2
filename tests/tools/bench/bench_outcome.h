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
  std::ostringstream out, err;
  const int exit_code = run_bench(arguments, out, err);
  return {exit_code, out.str(), err.str()};
}

}  // namespace dedupfs::bench
