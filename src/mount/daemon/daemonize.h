// Goes into the background, and reports the result to the calling process.
//
// Threads: before any other thread exists (fork); after that from any thread, one at a time. The first report counts.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace dedupfs {

class Startup {
 public:
  // Stays in the foreground: succeeded() prints the note, failed() the message.
  static Startup in_foreground() { return Startup(UniqueFd()); }
  // Forks. The parent waits for the child's report, prints it and exits with its code: this returns in the child
  // only, with the parent's standard streams and in its process group until succeeded(), and then as the leader of a session of its own.
  // The kernel's automounter lets the process group of the one who mounts through to the place of the mount, and makes all others wait.
  static Result<Startup> in_background();

  // What the caller is told beside the success, in the background and in the foreground.
  void note(const std::string& message) { note_ = message; }
  void succeeded();
  void failed(int exit_code, const std::string& message);

 private:
  explicit Startup(UniqueFd report) : report_(std::move(report)) {}

  UniqueFd report_;
  std::string note_;
  bool reported_ = false;
};

// "dedupfs: MESSAGE" on standard error.
void print_error(const std::string& message);

}  // namespace dedupfs
