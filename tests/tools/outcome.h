// A run of a tool without its process: the exit code, and both streams as text.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "console.h"

namespace dedupfs::tools {

struct Outcome {
  int exit_code;
  std::string out;
  std::string err;
};

// `tool` is a run_x(), `more` what it takes behind the streams.
template <class Tool, class... More>
Outcome outcome_of(const Tool& tool, const std::vector<std::string>& arguments, More&&... more) {
  std::ostringstream out, err;
  const int exit_code = tool(arguments, out, err, std::forward<More>(more)...);
  return {exit_code, out.str(), err.str()};
}

// The same with an output that takes nothing, as a full disk.
template <class Tool, class... More>
Outcome outcome_on_full_disk(const Tool& tool, const std::vector<std::string>& arguments, More&&... more) {
  std::ofstream out("/dev/full");
  std::ostringstream err;
  const int exit_code = tool(arguments, out, err, std::forward<More>(more)...);
  return {exit_code, {}, err.str()};
}

}  // namespace dedupfs::tools
