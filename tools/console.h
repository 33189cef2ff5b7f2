// The streams of one run of a tool, and the ways in which the run ends.
//
// A tool is a function of its arguments and two streams. Its main passes the streams of the process; a test passes streams of
// its own. Nothing in a tool writes to the process's standard streams itself, but for two parts of src/mount: a wait of more than
// two seconds is announced on standard error (mount/system/patience.h), and so are the errors of a mount (mount/daemon/daemon.h).
//
// With --json the output has JSON documents and nothing else, as docs/json.md says: what print() gets, and what fail() says.
//
// Threads: one.
// Ownership: refers to both streams.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dedupfs::tools {

class Command;
class Option;

using Arguments = std::span<const std::string>;  // without the name of the program

// For mains, which call it first: from then on no file of a volume can get the number of a standard stream that is closed.
std::vector<std::string> arguments_of(int argc, const char* const* argv);
std::string program_of(int argc, const char* const* argv);  // the path that the program was called by

// Adds --json. Console::as_json() says whether it was given.
Option add_json_flag(Command& app, const std::string& meaning);

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
  std::optional<int> parse(Command& app, Arguments arguments);

  // Known after parse(), also for arguments that are wrong: whether there is --json, and beside it --progress.
  bool as_json() const { return as_json_; }
  bool has_json_progress() const { return has_json_progress_; }

  // Prints a document: an object, with the name of its schema (json/document.h). With --progress it is the event "result".
  void print(std::string_view schema, nlohmann::json object) const;
  // Prints one of several documents, on one line.
  void print_line(std::string_view schema, nlohmann::json object) const;

  // "NAME: LINE" on the error stream.
  void say(std::string_view line) const;
  // Says the error, and ends the run: with --json it prints the document of the error. Gives the exit code.
  int fail(const Error& error) const { return fail(error, contract_.failed); }
  int fail(const Error& error, int exit_code) const;
  // Flushes the output. Gives `exit_code`, or the code of a failure if the output could not be written.
  int end(int exit_code) const;

 private:
  void print_error(std::string_view message, int exit_code) const;

  const ToolContract contract_;
  std::ostream& out_;
  std::ostream& err_;
  bool as_json_ = false;
  bool has_json_progress_ = false;
};

}  // namespace dedupfs::tools
