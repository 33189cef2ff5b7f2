#include <fcntl.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <list>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/mutex.h"
#include "mount/control/control_address.h"
#include "mount/control/control_socket.h"
#include "mount/control/outbox.h"
#include "store/format/superblock.h"

namespace dedupfs {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

struct Client {
  Client(UniqueFd client_socket, pid_t client_process) : socket(std::move(client_socket)), process(client_process) {
    touch();
  }

  void touch() { deadline = Clock::now() + ControlServer::kClientTimeout; }

  UniqueFd socket;  // none: the client is gone, or was handed over
  pid_t process;
  std::string received;
  Outbox to_send;
  bool awaits_unmount = false;
  bool wants_progress = false;
  Clock::time_point next_progress;
  bool closing = false;  // as soon as everything is sent
  Clock::time_point deadline;
};

}  // namespace

struct ControlServer::State {
  ~State();
  Result<void> listen(const BackingFolder& volume);
  void remove_file() const;
  void run();
  void tell_waiting(const std::string& response);
  void tell_progress(const std::string& line);
  void poll_once(std::chrono::milliseconds timeout);
  void accept_one();
  void serve(Client& client, short events);
  bool receive(Client& client);  // false: nothing came
  void advance(Client& client);
  bool send(Client& client);         // false: not everything was taken yet
  bool answer_next(Client& client);  // false: no whole request is there, or the client was handed over
  Result<Json> execute(const Json& request, Client& client);
  Result<void> check_wanted(const Client& client) const;
  void tell(Client& client, const std::function<Json()>& progress);
  void wake() const { ::eventfd_write(wakeup.get(), 1); }

  ControlAddress address;
  UniqueFd listener;
  UniqueFd wakeup;
  Handlers handlers;
  StreamHandlers streams;
  std::list<Client> clients;
  std::thread thread;

  std::atomic<bool> interrupted = false;  // a running handler should give up

  Mutex mutex;  // held while a handler runs, so that finish() waits for it
  std::optional<std::string> progress_line DEDUPFS_GUARDED_BY(mutex);  // not sent yet
  std::optional<std::string> final_line DEDUPFS_GUARDED_BY(mutex);
  bool ending DEDUPFS_GUARDED_BY(mutex) = false;  // no handler is called any more
  bool stopping DEDUPFS_GUARDED_BY(mutex) = false;
};

Result<void> ControlServer::State::listen(const BackingFolder& volume) {
  DEDUPFS_ASSIGN(address, ControlAddress::in(volume));
  listener = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  wakeup = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!listener || !wakeup) return Error::from_errno(errno, "control socket");
  ::unlink(address.address.sun_path);
  // fchmod in front of bind: the file has its mode from the start.
  if (::fchmod(listener.get(), 0600) != 0 || ::bind(listener.get(), address.get(), sizeof address.address) != 0 ||
      ::listen(listener.get(), 16) != 0) {
    return Error::from_errno(errno, volume.path().string() + ": control socket");
  }
  return {};
}

ControlServer::State::~State() {
  interrupted = true;
  if (thread.joinable()) {
    {
      const MutexLock lock(mutex);
      stopping = true;
    }
    wake();
    thread.join();
  }
  if (listener) remove_file();
}

// The next daemon may have the volume by now, and its own socket in this place. So the file is removed only if no daemon has the volume.
void ControlServer::State::remove_file() const {
  const UniqueFd lock(::openat(address.descriptor.get(), std::string(kLockFile).c_str(),
                               O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(address.address.sun_path);
}

void ControlServer::State::run() {
  for (bool last = false; !last;) {
    std::optional<std::string> final_response, progress;
    {
      const MutexLock lock(mutex);
      last = stopping;
      final_response = final_line;
      progress = std::exchange(progress_line, std::nullopt);
    }
    const bool done = survive("control socket", [&] {
      if (last) poll_once(0ms);  // what clients have sent already is still answered
      if (progress) tell_progress(*progress);
      if (final_response) tell_waiting(*final_response);
      if (!last) poll_once(clients.empty() ? -1ms : 1000ms);
    });
    if (!done) std::this_thread::sleep_for(100ms);  // then there may be memory again
  }
}

void ControlServer::State::tell_waiting(const std::string& response) {
  for (Client& client : clients) {
    if (!std::exchange(client.awaits_unmount, false)) continue;
    client.to_send.append(response);
    client.touch();
    advance(client);
  }
}

// One who has not taken the line before this one does without.
void ControlServer::State::tell_progress(const std::string& line) {
  for (Client& client : clients) {
    if (!client.awaits_unmount || !client.wants_progress || !client.to_send.empty()) continue;
    client.to_send.put(line);
    advance(client);
  }
}

void ControlServer::State::poll_once(std::chrono::milliseconds timeout) {
  const bool accepting = clients.size() < kMaxClients;
  std::vector<pollfd> polled = {{wakeup.get(), POLLIN, 0}, {accepting ? listener.get() : -1, POLLIN, 0}};
  for (const Client& client : clients) {
    polled.push_back({client.socket.get(), static_cast<short>(client.to_send.empty() ? POLLIN : POLLOUT), 0});
  }
  if (::poll(polled.data(), polled.size(), static_cast<int>(timeout.count())) < 0) return;

  eventfd_t ignored;
  ::eventfd_read(wakeup.get(), &ignored);
  auto polled_client = polled.begin() + 2;
  for (Client& client : clients) serve(client, (polled_client++)->revents);
  clients.remove_if([](const Client& client) { return !client.socket; });
  if ((polled[1].revents & POLLIN) != 0) accept_one();
}

void ControlServer::State::accept_one() {
  UniqueFd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return;
  const Result<ucred> peer = peer_of(socket.get());
  Client client(std::move(socket), peer ? peer->pid : 0);
  if (!peer || (peer->uid != 0 && peer->uid != ::geteuid())) {
    client.to_send.put(answer_line(Error{ErrorCode::kAccessDenied, "only root and the owner of the daemon may ask"}));
    client.closing = true;
  }
  clients.push_back(std::move(client));
}

void ControlServer::State::serve(Client& client, short events) {
  if ((events & POLLOUT) != 0) {
    advance(client);
  } else if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) {
    if (receive(client)) advance(client);
  } else if (!client.awaits_unmount && Clock::now() >= client.deadline) {
    client.socket.reset();
  }
}

bool ControlServer::State::receive(Client& client) {
  char buffer[16 * 1024];
  const ssize_t count = ::recv(client.socket.get(), buffer, sizeof buffer, 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count <= 0) {
    client.socket.reset();
    return false;
  }
  client.received.append(buffer, static_cast<std::size_t>(count));
  client.touch();
  return true;
}

// Sends what there is, then takes the next request; stops where the client has to act first.
void ControlServer::State::advance(Client& client) {
  while (true) {
    if (!send(client)) return;
    if (client.closing) return client.socket.reset();
    if (client.awaits_unmount || !answer_next(client)) return;
  }
}

bool ControlServer::State::send(Client& client) {
  while (!client.to_send.empty()) {
    const ssize_t sent =
        ::send(client.socket.get(), client.to_send.rest().data(), client.to_send.rest().size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (sent < 0) {
      client.socket.reset();
      return false;
    }
    client.to_send.take(static_cast<std::size_t>(sent));
    client.touch();
  }
  return true;
}

bool ControlServer::State::answer_next(Client& client) {
  const std::size_t end = client.received.find('\n');
  if (std::min(end, client.received.size()) > kMaxRequest) {
    client.to_send.put(answer_line(Error{ErrorCode::kTooLarge, "the request is too long"}));
    client.closing = true;
    return true;
  }
  if (end == std::string::npos) return false;
  const Json request = Json::parse(std::string_view(client.received).substr(0, end), nullptr, false);
  client.received.erase(0, end + 1);
  const Result<Json> outcome = execute(request, client);
  if (!client.socket) return false;
  if (!client.awaits_unmount) client.to_send.append(answer_line(outcome));
  client.touch();
  return true;
}

Result<void> ControlServer::State::check_wanted(const Client& client) const {
  if (!client.socket || is_peer_gone(client.socket.get()))
    return Error{ErrorCode::kInterrupted, "nobody waits for the answer"};
  if (interrupted) return Error{ErrorCode::kInterrupted, "the volume is being unmounted"};
  return {};
}

// One who has not taken the line before this one does without.
void ControlServer::State::tell(Client& client, const std::function<Json()>& progress) {
  if (!client.wants_progress || !client.socket || Clock::now() < client.next_progress) return;
  client.next_progress = Clock::now() + kBetweenProgress;
  if (!send(client)) return;
  client.to_send.put(answer_line(Json{{"progress", progress()}}));
  send(client);
}

Result<Json> ControlServer::State::execute(const Json& request, Client& client) {
  if (!request.is_object()) return Error{ErrorCode::kInvalidArgument, "the request is not a JSON object"};
  const auto command = request.find("command");
  if (command == request.end() || !command->is_string()) {
    return Error{ErrorCode::kInvalidArgument, "the request has no \"command\""};
  }
  const std::string& name = command->get_ref<const std::string&>();
  const auto progress = request.find("progress");
  client.wants_progress = progress != request.end() && *progress == true;
  client.next_progress = Clock::now() + kBetweenProgress;
  if (name == kAwaitUnmount) {
    client.awaits_unmount = true;
    wake();  // it may be over already
    return Json::object();
  }
  const auto handler = handlers.find(name);
  const auto stream = streams.find(name);
  if (handler == handlers.end() && stream == streams.end())
    return Error{ErrorCode::kInvalidArgument, "unknown command \"" + name + '"'};
  const MutexLock lock(mutex);
  if (ending) return Error{ErrorCode::kStale, "the volume is being unmounted"};
  return guarded_answer([&]() -> Result<Json> {
    if (handler != handlers.end())
      return handler->second(
          request, [&] { return check_wanted(client); },
          [&](const std::function<Json()>& how_far) { tell(client, how_far); });
    stream->second(request, {std::move(client.socket), std::move(client.received), client.process});
    return Json::object();
  });
}

ControlServer::ControlServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

ControlServer::~ControlServer() = default;

Result<std::unique_ptr<ControlServer>> ControlServer::start(const BackingFolder& volume, Handlers handlers,
                                                            StreamHandlers streams) {
  auto state = std::make_unique<State>();
  DEDUPFS_TRY(state->listen(volume));
  state->handlers = std::move(handlers);
  state->streams = std::move(streams);
  state->thread = std::thread([&serving = *state] { serving.run(); });
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(state)));
}

void ControlServer::end_requests() {
  state_->interrupted = true;
  const MutexLock lock(state_->mutex);
  state_->ending = true;
}

void ControlServer::report(const std::string& progress) {
  const MutexLock lock(state_->mutex);
  state_->progress_line = answer_line(Json{{"progress", progress}});
  state_->wake();
}

void ControlServer::finish(const Result<void>& outcome, const std::string& warning) {
  const MutexLock lock(state_->mutex);
  state_->ending = true;
  Json answer = Json::object();
  if (!warning.empty()) answer["warning"] = warning;
  state_->final_line = answer_line(outcome ? Result<Json>(answer) : Result<Json>(outcome.error()));
  state_->wake();
}

}  // namespace dedupfs
