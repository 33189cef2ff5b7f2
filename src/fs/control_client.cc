#include <cerrno>
#include <utility>

#include "fs/control_address.h"
#include "fs/control_socket.h"

namespace dedupfs {

Result<ControlClient> ControlClient::connect(const Path& volume) {
  DEDUPFS_ASSIGN(const ControlAddress address, ControlAddress::of(volume));
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return Error::from_errno(errno, "control socket");
  if (::connect(socket.get(), address.get(), sizeof address.address) != 0) {
    if (errno == ECONNREFUSED || errno == ENOENT) {
      return Error{ErrorCode::kNotFound, volume.string() + " is not mounted: no daemon answers at its control socket"};
    }
    if (errno == EACCES)
      return Error{ErrorCode::kAccessDenied, "the daemon of " + volume.string() + " is another user's"};
    return Error::from_errno(errno, volume.string() + ": control socket");
  }
  DEDUPFS_ASSIGN(const ucred daemon, peer_of(socket.get()));
  return ControlClient(std::move(socket), daemon.pid);
}

Result<void> ControlClient::send(const nlohmann::json& request) {
  std::string line = request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return Error::from_errno(errno, "control socket");
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Result<nlohmann::json> ControlClient::receive() {
  std::size_t end;
  while ((end = received_.find('\n')) == std::string::npos) {
    char buffer[16 * 1024];
    const ssize_t count = ::recv(socket_.get(), buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Error::from_errno(errno, "control socket");
    if (count == 0) return Error{ErrorCode::kIo, "the daemon closed the control socket without an answer"};
    received_.append(buffer, static_cast<std::size_t>(count));
  }
  auto response = nlohmann::json::parse(std::string_view(received_).substr(0, end), nullptr, false);
  received_.erase(0, end + 1);
  if (!response.is_object() || !response.contains("ok") || !response["ok"].is_boolean()) {
    return Error{ErrorCode::kIo, "the answer of the daemon is not understood"};
  }
  if (!response["ok"].get<bool>()) {
    const nlohmann::json& error = response["error"];
    return Error{ErrorCode::kIo, error.is_string() ? error.get<std::string>() : "unknown error"};
  }
  response.erase("ok");
  return response;
}

Result<nlohmann::json> ControlClient::request(const nlohmann::json& request) {
  DEDUPFS_TRY(send(request));
  return receive();
}

Result<nlohmann::json> control_request(const Path& volume, const nlohmann::json& request) {
  DEDUPFS_ASSIGN(ControlClient client, ControlClient::connect(volume));
  return client.request(request);
}

}  // namespace dedupfs
