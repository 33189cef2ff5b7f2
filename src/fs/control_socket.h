// The control socket of a mounted volume, VOLUME/control.sock: one JSON object a line, request and response in turn.
//
//   {"command": "sync"}   ->  {"ok": true}
//   anything              ->  {"ok": false, "error": "..."}
//
// Only root and the user of the daemon may connect: the mode of the socket is 0600, and the peer is checked.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/backing.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace dedupfs {

// Serves the socket from one thread; commands run there, one after the other.
//
// Ownership: owns the socket's file and removes it.
// Threads:   every function from any thread.
// Failure:   requests that are no JSON, too long, or unknown are answered with an error; a client that sends or takes nothing
//            for kClientTimeout is dropped. Nobody waits for a slow client.
class ControlServer {
 public:
  static constexpr std::size_t kLongestRequest = 64 * 1024;
  static constexpr std::size_t kMostClients = 64;
  static constexpr std::chrono::seconds kClientTimeout{10};
  // The one command that every server knows: its answer comes when finish() is called.
  static constexpr std::string_view kAwaitUnmount = "await_unmount";

  // What the response holds beside "ok".
  using Handler = std::function<Result<nlohmann::json>(const nlohmann::json& request)>;
  using Handlers = std::map<std::string, Handler, std::less<>>;

  // A socket that a dead daemon left behind is replaced: the caller has locked the volume.
  static Result<std::unique_ptr<ControlServer>> start(const Path& volume, Handlers handlers);
  ~ControlServer();

  // The volume is about to be closed: waits for a handler that runs, and calls none any more.
  void end_requests();
  // The volume is closed: those who wait for it are told how it went.
  void finish(const Result<void>& outcome);

 private:
  struct State;
  explicit ControlServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A connection to the daemon that has a volume mounted.
//
// Threads:   one user at a time.
// Failure:   kNotFound when no daemon serves the volume; kAccessDenied when it is another user's; the error of the daemon
//            otherwise, or kIo when the daemon goes away before it has answered.
class ControlClient {
 public:
  static Result<ControlClient> connect(const Path& volume);

  // The response without "ok". Waits as long as the command takes.
  Result<nlohmann::json> request(const nlohmann::json& request);
  // The two halves of request().
  Result<void> send(const nlohmann::json& request);
  Result<nlohmann::json> receive();

  pid_t daemon_pid() const { return daemon_pid_; }

 private:
  ControlClient(UniqueFd socket, pid_t daemon_pid) : socket_(std::move(socket)), daemon_pid_(daemon_pid) {}

  UniqueFd socket_;
  pid_t daemon_pid_ = 0;
  std::string received_;  // behind the last line that was taken
};

// What `read` takes from an answer. kIo where a daemon of another version, or who else answers, put something else there.
template <class Read>
auto read_answer(Read&& read) -> Result<decltype(read())> {
  try {
    return read();
  } catch (const nlohmann::json::exception& error) {
    return Error{ErrorCode::kIo, std::string("the answer of the daemon is not understood: ") + error.what()};
  }
}

// One request over a connection of its own.
Result<nlohmann::json> control_request(const Path& volume, const nlohmann::json& request);

}  // namespace dedupfs
