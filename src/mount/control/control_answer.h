// Connections of the control socket and the answers on them, for both ends.
//
// Threads: free functions; a connection has one user at a time.
#pragma once

#include <sys/types.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/guarded.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace dedupfs {

// The socket does not block.
struct ControlConnection {
  UniqueFd socket;
  std::string received;  // behind the last line that was taken
  pid_t peer = 0;        // as the kernel names the process
};

// Whether the other end is closed, and takes nothing any more. One that only sends nothing more is not.
bool is_peer_gone(int socket);

// An answer, or an error, as the daemon sends it: a document on one line.
std::string answer_line(const Result<nlohmann::json>& outcome);

// Takes the next line from the connection: the answer without "ok" and what names its schema, or the error of the daemon. Calls the
// function before it reads more from the socket; an Error of it ends the wait.
// Failure: kIo for a line that is too long or no answer, and when the daemon goes away.
Result<nlohmann::json> receive_answer(ControlConnection& connection,
                                      const std::function<Result<void>(int socket)>& wait_for_more);

// What a command answers. An exception becomes its error; one of JSON is an argument of the wrong type.
template <class Command>
Result<nlohmann::json> guarded_answer(const Command& command) noexcept {
  return guarded([&]() -> Result<nlohmann::json> {
    try {
      return command();
    } catch (const nlohmann::json::exception& error) {
      return Error{ErrorCode::kInvalidArgument, error.what()};
    }
  });
}

}  // namespace dedupfs
