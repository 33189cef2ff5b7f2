// A program of others that a tool runs. It has the environment, standard input and standard error of the tool, so it can ask for a
// passphrase, and say what is wrong.
//
// Threads: one user.
// Ownership: a program that still runs when the object goes gets SIGTERM, and is waited for.
// Failure: kNotFound if there is no such program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace dedupfs::tools {

struct ChildSettings {
  std::vector<std::string> command;                // the program, found by PATH, and its arguments
  std::map<std::string, std::string> environment;  // on top of that of this process
  std::string folder;                              // where it runs; empty: here
};

class ChildProgram {
 public:
  // What it prints goes to `output`, a pipe, or nowhere.
  enum class Output { kNone, kPipe };
  static Result<ChildProgram> start(const ChildSettings& settings, Output output);
  ChildProgram(ChildProgram&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), output_(std::move(other.output_)) {}
  ChildProgram& operator=(ChildProgram&&) = delete;
  ~ChildProgram();

  // Its end: the exit status, 128 and the number of the signal that ended it. Asks `goes_on` several times a second with the bytes
  // that it wrote so far, to files and elsewhere; 0 where the system does not tell. False: it gets SIGTERM.
  Result<int> wait(const std::function<bool(std::uint64_t written_bytes)>& goes_on);
  // All that it prints, at most so much.
  Result<std::string> read_output(std::size_t limit);

 private:
  ChildProgram(pid_t pid, UniqueFd output) : pid_(pid), output_(std::move(output)) {}
  std::uint64_t written_bytes() const;

  pid_t pid_;  // -1: it has ended
  UniqueFd output_;
};

// What a program prints that is run to its end. kIo if it fails.
Result<std::string> output_of(const ChildSettings& settings, std::size_t limit);

}  // namespace dedupfs::tools
