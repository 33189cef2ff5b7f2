// The control socket of a mounted volume, VOLUME/control.sock: one JSON object a line, request and response in turn.
//
//   {"command": "sync"}   ->  {"ok": true}
//   anything              ->  {"ok": false, "error": "..."}
//
// Only root and the user of the daemon may connect: the mode of the socket is 0600, and the peer is checked.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/backing.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "mount/system/patience.h"

namespace dedupfs {

// Serves the socket from one thread; commands run there, one after the other.
//
// Ownership: owns the socket's file and removes it.
// Threads:   every function from any thread.
// Failure:   requests that are no JSON, too long, or unknown are answered with an error; a client that sends or takes nothing
//            for kClientTimeout is dropped. Nobody waits for a slow client.
class ControlServer {
 public:
  static constexpr std::size_t kMaxRequest = 64 * 1024;
  static constexpr std::size_t kMaxClients = 64;
  static constexpr std::chrono::seconds kClientTimeout{10};
  // The one command that every server knows: its answer comes when finish() is called. With "progress": true, lines that have
  // "progress" come before it.
  static constexpr std::string_view kAwaitUnmount = "await_unmount";

  // What the response holds beside "ok".
  using Handler = std::function<Result<nlohmann::json>(const nlohmann::json& request)>;
  using Handlers = std::map<std::string, Handler, std::less<>>;

  // A socket that a dead daemon left behind is replaced: the caller has locked the volume.
  static Result<std::unique_ptr<ControlServer>> start(const BackingFolder& volume, Handlers handlers);
  ~ControlServer();

  // The volume is about to be closed: waits for a handler that runs, and calls none any more.
  void end_requests();
  // Tells those who wait for the unmount what takes so long.
  void report(const std::string& progress);
  // The volume is closed: those who wait for it are told how it went, and what else they have to know, if anything.
  void finish(const Result<void>& outcome, const std::string& warning = {});

 private:
  struct State;
  explicit ControlServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A connection to the daemon that has a volume mounted. Who answers is looked at first: only a process of root, of the user
// who asks or of the volume's owner is asked anything. All else about it is what it says, so answers are bounded in length and
// time.
//
// Threads:   one user at a time.
// Failure:   kNotFound when no daemon serves the volume; kAccessDenied when it belongs to another user; kInterrupted when `patience`
//            is at its end; the error of the daemon otherwise, or kIo when the daemon goes away before it has answered.
class ControlClient {
 public:
  static Result<ControlClient> connect(const Path& volume, Patience patience = {});

  // The response without "ok".
  Result<nlohmann::json> request(const nlohmann::json& request);
  // The two halves of request().
  Result<void> send(const nlohmann::json& request);
  Result<nlohmann::json> receive();
  // The same, where the caller waits: called when there is more to read from the socket; its Error ends the wait.
  Result<nlohmann::json> receive(const std::function<Result<void>(int socket)>& wait_for_more);

  pid_t daemon_pid() const { return daemon_.pid; }
  uid_t daemon_user() const { return daemon_.uid; }

 private:
  ControlClient(UniqueFd socket, ucred daemon, Patience patience)
      : socket_(std::move(socket)), daemon_(daemon), patience_(std::move(patience)) {}
  Wait wait_for(std::string_view what) const;

  UniqueFd socket_;
  ucred daemon_;
  Patience patience_;
  std::string received_;      // behind the last line that was taken
  std::size_t searched_ = 0;  // so much of it holds no end of a line
};

// What `read` takes from an answer. kIo where a daemon of another version, or who else answers, put something else there.
template <class Read>
auto read_answer(Read&& read) -> Result<decltype(read())> {
  try {
    return read();
  } catch (const nlohmann::json::exception& error) {
    return Error{ErrorCode::kIo, std::string("the answer of the daemon is not valid: ") + error.what()};
  }
}

// Sends kAwaitUnmount; then waits until the volume is closed, and gives the last answer. Lines of progress go to `show`.
Result<void> send_await_unmount(ControlClient& client);
Result<nlohmann::json> receive_await_unmount(ControlClient& client,
                                             const std::function<Result<void>(int socket)>& wait_for_more,
                                             const std::function<void(const std::string& progress)>& show);

// One request over a connection of its own.
Result<nlohmann::json> control_request(const Path& volume, const nlohmann::json& request);

}  // namespace dedupfs
