// The streams of one run of a tool, and the ways in which the run ends.
//
// A tool is a function of its arguments and two streams. Its main passes the streams of the process; a test passes streams of
// its own. Nothing in a tool writes to the process's standard streams itself, but for two parts of src/mount: a wait of more than
// two seconds is announced on standard error (mount/system/patience.h), and so are the errors of a mount (mount/daemon/daemon.h).
//
// Threads: one.
// Ownership: refers to both streams.
#pragma once

#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace dedupfs::tools {

using Arguments = std::span<const std::string>;  // without the name of the program

std::vector<std::string> arguments_of(int argc, const char* const* argv);
std::string program_of(int argc, const char* const* argv);  // the path that the program was called by

// The name of a tool, and its exit codes for the failures that every tool has.
struct ToolContract {
  std::string_view name;
  int usage_error = 0;
  int failed = 0;
};

class Console {
 public:
  Console(ToolContract contract, std::ostream& out, std::ostream& err) : contract_(contract), out_(out), err_(err) {}

  std::ostream& out() const { return out_; }
  std::ostream& err() const { return err_; }

  // Empty if the tool has something to do. Otherwise the exit code: help or version was printed, or the arguments are wrong.
  std::optional<int> parse(CLI::App& app, Arguments arguments) const;

  // "NAME: LINE" on the error stream.
  void say(std::string_view line) const;
  // The same for an error. Gives the exit code.
  int fail(const Error& error) const { return fail(error, contract_.failed); }
  int fail(const Error& error, int exit_code) const;
  // Flushes the output. Gives `exit_code`, or the code of a failure if the output could not be written.
  int end(int exit_code) const;

 private:
  const ToolContract contract_;
  std::ostream& out_;
  std::ostream& err_;
};

}  // namespace dedupfs::tools
