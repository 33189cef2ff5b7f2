// A run of dedupfs-bench, without its process.
#pragma once

#include <string>
#include <vector>

#include "bench/run.h"
#include "tools/outcome.h"

namespace dedupfs::bench {

using tools::Outcome;

inline Outcome bench(const std::vector<std::string>& arguments) {
  return tools::outcome_of(run_bench, arguments);
}

}  // namespace dedupfs::bench
