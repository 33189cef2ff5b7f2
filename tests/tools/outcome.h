// A run of a tool without its process: the exit code, and both streams as text. What it prints with --json is checked against
// docs/schemas, so each test of a tool is one of its JSON, too.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "console.h"
#include "process.h"
#include "support/json_contract.h"

namespace dedupfs::tools {

struct Outcome {
  int exit_code;
  std::string out;
  std::string err;
};

// A tool that asks for a Process gets one without terminals, unless `more` has another one.
template <class Tool, class... More>
int call_tool(const Tool& tool, Arguments arguments, std::ostream& out, std::ostream& err, More&&... more) {
  if constexpr (std::is_invocable_v<const Tool&, Arguments, std::ostream&, std::ostream&, More...>)
    return tool(arguments, out, err, std::forward<More>(more)...);
  else
    return tool(arguments, out, err, std::forward<More>(more)..., Process());
}

// `tool` is a run_x(), `more` what it takes behind the streams.
template <class Tool, class... More>
Outcome outcome_of(const Tool& tool, const std::vector<std::string>& arguments, More&&... more) {
  std::ostringstream out, err;
  const int exit_code = call_tool(tool, arguments, out, err, std::forward<More>(more)...);
  const bool prints_json = std::ranges::find(arguments, "--json") != arguments.end() && !out.str().empty();
  const bool is_help = exit_code == 0 && out.str().find("Usage: ") != std::string::npos;
  if (prints_json && !is_help) {
    EXPECT_EQ(contract_findings(out.str()), "") << out.str();
  }
  return {exit_code, out.str(), err.str()};
}

// The same with an output that takes nothing, as a full disk.
template <class Tool, class... More>
Outcome outcome_on_full_disk(const Tool& tool, const std::vector<std::string>& arguments, More&&... more) {
  std::ofstream out("/dev/full");
  std::ostringstream err;
  const int exit_code = call_tool(tool, arguments, out, err, std::forward<More>(more)...);
  return {exit_code, {}, err.str()};
}

}  // namespace dedupfs::tools
