// The control socket of a mounted volume, VOLUME/control.sock: one JSON object a line, request and response in turn.
//
//   {"command": "sync"}   ->  {"ok": true, ...}, a document (json/document.h)
//   anything              ->  {"ok": false, "error": "...", ...}
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
#include <type_traits>
#include <utility>

#include "base/backing.h"
#include "base/result.h"
#include "mount/control/control_answer.h"
#include "mount/system/patience.h"

namespace dedupfs {

// Serves the socket from one thread; commands run there, one after the other.
//
// Ownership: owns the socket's file and removes it.
// Threads:   every function from any thread.
// Failure:   requests that are not JSON, too long, or unknown get an error. A client that sends and takes nothing for
//            kClientTimeout is dropped. A slow client delays no other.
class ControlServer {
 public:
  static constexpr std::size_t kMaxRequest = 64 * 1024;
  static constexpr std::size_t kMaxClients = 64;
  static constexpr std::chrono::seconds kClientTimeout{10};
  // Every server knows this command. Its answer comes when finish() is called. With "progress": true, lines with "progress" come
  // before it.
  static constexpr std::string_view kAwaitUnmount = "await_unmount";
  static constexpr std::chrono::milliseconds kBetweenProgress{200};

  // kInterrupted as soon as nobody waits for the answer any more, or the volume is being unmounted.
  using StillWanted = std::function<Result<void>()>;
  // Tells how far the work is, in a line with "progress" before the answer: if the client wants that, and not too often.
  using Tell = std::function<void(const std::function<nlohmann::json()>& progress)>;
  // Gives the response without these. One who takes long asks `wanted` now and then, and tells.
  class Handler {
   public:
    Handler() = default;
    template <class Function>
    requires(!std::is_same_v<Function, Handler>)
        // NOLINTNEXTLINE(google-explicit-constructor)
        Handler(Function function) {
      if constexpr (std::is_invocable_v<Function, const nlohmann::json&, const StillWanted&, const Tell&>)
        answer_ = std::move(function);
      else if constexpr (std::is_invocable_v<Function, const nlohmann::json&, const StillWanted&>)
        answer_ = [silent = std::move(function)](const nlohmann::json& request, const StillWanted& wanted,
                                                 const Tell&) { return silent(request, wanted); };
      else
        answer_ = [quick = std::move(function)](const nlohmann::json& request, const StillWanted&, const Tell&) {
          return quick(request);
        };
    }
    Result<nlohmann::json> operator()(
        const nlohmann::json& request, const StillWanted& wanted,
        const Tell& tell = [](const std::function<nlohmann::json()>&) {}) const {
      return answer_(request, wanted, tell);
    }

   private:
    std::function<Result<nlohmann::json>(const nlohmann::json& request, const StillWanted& wanted, const Tell& tell)>
        answer_;
  };
  using Handlers = std::map<std::string, Handler, std::less<>>;

  // Takes over the connection of a client who sent a request: the server has nothing to do with it any more. Runs on the thread of
  // the server, so it hands the work to another one (stream_jobs.h).
  using StreamHandler = std::function<void(const nlohmann::json& request, ControlConnection connection)>;
  using StreamHandlers = std::map<std::string, StreamHandler, std::less<>>;

  // A socket that a dead daemon left behind is replaced: the caller has locked the volume.
  static Result<std::unique_ptr<ControlServer>> start(const BackingFolder& volume, Handlers handlers,
                                                      StreamHandlers streams = {});
  ~ControlServer();

  // Call it before closing the volume: waits for a running handler, which is not wanted any more, and then runs no other, of
  // either kind.
  void end_requests();
  // Reports progress to clients that wait for the unmount.
  void report(const std::string& progress);
  // Call it when the volume is closed: reports the result, and a note if there is one, to waiting clients.
  void finish(const Result<void>& outcome, const std::string& warning = {});

 private:
  struct State;
  explicit ControlServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A connection to the daemon of a mounted volume. The client checks the peer first: it must be a process of root, of the caller's
// user, or of the volume's owner. The answers are not trusted: their length and time are bounded.
//
// Threads:   one user at a time.
// Failure:   kNotFound when no daemon serves the volume; kAccessDenied when it belongs to another user; kInterrupted when `patience`
//            is at its end; the error of the daemon otherwise, or kIo when the daemon goes away before it has answered.
class ControlClient {
 public:
  static Result<ControlClient> connect(const Path& volume, Patience patience = {});

  // The response without "ok" and what names its schema.
  Result<nlohmann::json> request(const nlohmann::json& request);
  // The two halves of request().
  Result<void> send(const nlohmann::json& request);
  Result<nlohmann::json> receive();
  // The same. The client calls the function before it reads more from the socket; an Error of it ends the wait.
  Result<nlohmann::json> receive(const std::function<Result<void>(int socket)>& wait_for_more);

  pid_t daemon_pid() const { return connection_.peer; }
  uid_t daemon_user() const { return daemon_user_; }
  // A wait for the daemon, as patient as the client is. `what` completes "the daemon, process 12, to ...".
  Wait wait_for(std::string_view what) const;
  // For protocols that go on behind an answer (control_stream.h).
  ControlConnection& connection() { return connection_; }

 private:
  ControlClient(ControlConnection connection, uid_t daemon_user, Patience patience)
      : connection_(std::move(connection)), daemon_user_(daemon_user), patience_(std::move(patience)) {}

  ControlConnection connection_;
  uid_t daemon_user_;
  Patience patience_;
};

// Applies `read` to an answer. kIo if the answer has another form, for example from a daemon of another version.
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
// The same for long work. `show` gets what the daemon tells of its progress; an older daemon tells nothing.
Result<nlohmann::json> control_request(const Path& volume, nlohmann::json request,
                                       const std::function<void(const nlohmann::json& progress)>& show);

// Whether a daemon serves the volume. An Error: somebody else's does.
Result<bool> has_daemon(const Path& volume);

}  // namespace dedupfs
