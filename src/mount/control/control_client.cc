#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <thread>
#include <utility>

#include "json/document.h"
#include "mount/control/control_address.h"
#include "mount/control/control_socket.h"
#include "mount/system/mount_table.h"

namespace dedupfs {
namespace {

// A daemon on a read-only disk cannot make a socket there.
Error no_daemon(const Path& volume) {
  const auto table = read_mount_table();
  const auto mount = table ? find_dedupfs_mount(*table, volume) : std::nullopt;
  if (!mount)
    return {ErrorCode::kNotFound, volume.string() + " is not mounted: no daemon answers at its control socket"};
  if (mount->is_read_only())
    return {
        ErrorCode::kNotFound,
        fmt::format("{} is mounted read-only at {}, but has no control socket, as on a read-only disk: only what the "
                    "mount itself answers can be asked (dedupfs-stat, dedupfs-top, dedupfs-quota list); to check the "
                    "data, unmount it and call fsck.dedupfs -n --verify-data",
                    volume.string(), mount->mountpoint.string())};
  return {
      ErrorCode::kNotFound,
      fmt::format("{} is mounted at {}, but no daemon answers at its control socket: the socket was removed, or the "
                  "daemon has died; unmount it, and mount it again",
                  volume.string(), mount->mountpoint.string())};
}

Error not_for_everybody(const Path& volume) {
  return {ErrorCode::kAccessDenied,
          fmt::format("the daemon of {} answers only root and its owner here; everybody who sees the mount may ask "
                      "dedupfs-stat and dedupfs-top",
                      volume.string())};
}

// A queue of the socket that is full is a daemon that does not come to accept anybody.
Result<void> connect_to(int socket, const ControlAddress& address, const Path& volume, const Patience& patience) {
  Wait wait("the daemon of " + volume.string() + " to take another connection", patience);
  while (::connect(socket, address.get(), sizeof address.address) != 0) {
    if (errno == ECONNREFUSED || errno == ENOENT) return no_daemon(volume);
    if (errno == EACCES) return not_for_everybody(volume);
    if (errno != EAGAIN && errno != EINTR) return Error::from_errno(errno, volume.string() + ": control socket");
    DEDUPFS_TRY(wait.check());
    std::this_thread::sleep_for(wait.pause(std::chrono::milliseconds(20)));
  }
  return {};
}

}  // namespace

Result<ControlClient> ControlClient::connect(const Path& volume, Patience patience) {
  const auto address = ControlAddress::of(volume);
  if (!address && address.error().code() == ErrorCode::kNotFound) return no_daemon(volume);
  if (!address && address.error().code() == ErrorCode::kAccessDenied) return not_for_everybody(volume);
  if (!address) return address.error();
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return Error::from_errno(errno, "control socket");
  DEDUPFS_TRY(connect_to(socket.get(), *address, volume, patience));
  DEDUPFS_ASSIGN(const ucred daemon, peer_of(socket.get()));
  if (daemon.uid != 0 && daemon.uid != ::geteuid() && daemon.uid != address->volume_owner)
    return Error{ErrorCode::kAccessDenied,
                 fmt::format("process {1} of user {2} serves the control socket of {0}, but that user is neither root "
                             "nor the owner of the volume: no request was sent",
                             volume.string(), daemon.pid, daemon.uid)};
  return ControlClient({std::move(socket), {}, daemon.pid}, daemon.uid, std::move(patience));
}

Wait ControlClient::wait_for(std::string_view what) const {
  return Wait(fmt::format("the daemon, process {}, to {}", daemon_pid(), what), patience_);
}

Result<void> ControlClient::send(const nlohmann::json& request) {
  const std::string line = text_of_json(request, JsonLayout::kLine);
  Wait wait = wait_for("take a request");
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t sent = ::send(connection_.socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) return Error::from_errno(errno, "control socket");
    DEDUPFS_TRY(wait.for_events(connection_.socket.get(), POLLOUT));
  }
  return {};
}

Result<nlohmann::json> ControlClient::receive() {
  Wait wait = wait_for("answer");
  return receive([&wait](int socket) { return wait.for_events(socket, POLLIN); });
}

Result<nlohmann::json> ControlClient::receive(const std::function<Result<void>(int socket)>& wait_for_more) {
  return receive_answer(connection_, wait_for_more);
}

Result<nlohmann::json> ControlClient::request(const nlohmann::json& request) {
  DEDUPFS_TRY(send(request));
  return receive();
}

Result<void> send_await_unmount(ControlClient& client) {
  return client.send({{"command", ControlServer::kAwaitUnmount}, {"progress", true}});
}

Result<nlohmann::json> receive_await_unmount(ControlClient& client,
                                             const std::function<Result<void>(int socket)>& wait_for_more,
                                             const std::function<void(const std::string& progress)>& show) {
  for (;;) {
    DEDUPFS_ASSIGN(nlohmann::json answer, client.receive(wait_for_more));
    const auto progress = answer.find("progress");
    if (progress == answer.end()) return answer;
    DEDUPFS_ASSIGN(const std::string text, read_answer([&] { return progress->get<std::string>(); }));
    show(text);
  }
}

Result<bool> has_daemon(const Path& volume) {
  const auto daemon = ControlClient::connect(volume);
  if (daemon) return true;
  return daemon.error().code() == ErrorCode::kNotFound ? Result<bool>(false) : daemon.error();
}

Result<nlohmann::json> control_request(const Path& volume, const nlohmann::json& request) {
  DEDUPFS_ASSIGN(ControlClient client, ControlClient::connect(volume));
  return client.request(request);
}

Result<nlohmann::json> control_request(const Path& volume, nlohmann::json request,
                                       const std::function<void(const nlohmann::json& progress)>& show) {
  request["progress"] = true;
  DEDUPFS_ASSIGN(ControlClient client, ControlClient::connect(volume));
  DEDUPFS_TRY(client.send(request));
  for (;;) {
    DEDUPFS_ASSIGN(nlohmann::json answer, client.receive());
    const auto progress = answer.find("progress");
    if (progress == answer.end()) return answer;
    show(*progress);
  }
}

}  // namespace dedupfs
