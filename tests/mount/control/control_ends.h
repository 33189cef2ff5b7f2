// Both ends of a control socket, as tests need them: a server that answers, a socket at which nobody does, and a client without manners.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "mount/control/control_address.h"
#include "mount/control/control_socket.h"
#include "support/folder_at.h"

namespace dedupfs {

// Its command "echo" answers with "text", and "fail" with an error.
inline std::unique_ptr<ControlServer> start_server(const Path& volume, const ControlServer::Handlers& more = {},
                                                   const ControlServer::StreamHandlers& streams = {}) {
  using Json = nlohmann::json;
  ControlServer::Handlers handlers = more;
  handlers["echo"] = [](const Json& request) -> Result<Json> { return Json{{"echo", request.at("text")}}; };
  handlers["fail"] = [](const Json&) -> Result<Json> { return Error{ErrorCode::kNoSpace, "the disk is full"}; };
  auto server = ControlServer::start(*folder_at(volume), handlers, streams);
  EXPECT_TRUE(server) << (server ? "" : server.error().message());
  return server ? std::move(*server) : nullptr;
}

inline Result<nlohmann::json> ask_echo(const Path& volume) {
  return control_request(volume, {{"command", "echo"}, {"text", "x"}});
}

// A socket in the volume's folder, at which nobody answers.
inline UniqueFd silent_socket(const Path& volume) {
  const auto address = ControlAddress::in(*folder_at(volume));
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(listener.get(), address->get(), sizeof address->address), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  return listener;
}

// What a client that knows no manners sends and gets.
class RawClient {
 public:
  explicit RawClient(const Path& volume) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto address = ControlAddress::of(volume);
    EXPECT_TRUE(address);
    EXPECT_EQ(::connect(socket_.get(), address->get(), sizeof address->address), 0);
  }

  bool send(std::string_view text) const {
    return ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // Until the server has sent `lines` lines, or closed.
  std::string receive(std::ptrdiff_t lines) const {
    std::string text;
    char buffer[4096];
    while (lines > 0) {
      const ssize_t count = ::recv(socket_.get(), buffer, sizeof buffer, 0);
      if (count <= 0) break;
      lines -= std::count(buffer, buffer + count, '\n');
      text.append(buffer, static_cast<std::size_t>(count));
    }
    return text;
  }
  void end_sending() const { ::shutdown(socket_.get(), SHUT_WR); }
  int socket() const { return socket_.get(); }

 private:
  UniqueFd socket_;
};

}  // namespace dedupfs
