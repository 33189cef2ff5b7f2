// The other end of a datagram socket: what systemd or its journal would receive.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "base/unique_fd.h"

namespace dedupfs {

class Receiver {
 public:
  // `address`: a path, or '@' and an abstract name.
  explicit Receiver(const std::string& address) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, address.data(), address.size());
    const bool is_abstract = address.front() == '@';
    if (is_abstract) name.sun_path[0] = '\0';
    const auto length = offsetof(sockaddr_un, sun_path) + address.size() + (is_abstract ? 0 : 1);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&name), static_cast<socklen_t>(length)), 0);
  }

  // The next datagram; "(nothing)" if none comes within `milliseconds`.
  std::string next(int milliseconds = 5000) {
    pollfd wait{socket_.get(), POLLIN, 0};
    if (::poll(&wait, 1, milliseconds) != 1) return "(nothing)";
    std::string datagram(64 << 10, '\0');
    const ssize_t size = ::recv(socket_.get(), datagram.data(), datagram.size(), 0);
    datagram.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return datagram;
  }

 private:
  UniqueFd socket_;
};

}  // namespace dedupfs
