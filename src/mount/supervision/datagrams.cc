#include "mount/supervision/datagrams.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

namespace dedupfs {

Result<Datagrams> Datagrams::to(std::string_view address, std::chrono::milliseconds patience) {
  Datagrams made;
  const bool is_address = address.size() > 1 && (address.front() == '/' || address.front() == '@');
  if (!is_address || address.size() >= sizeof made.address_.sun_path)
    return Error{ErrorCode::kInvalidArgument, "'" + std::string(address) + "' is not the address of a socket"};
  made.address_.sun_family = AF_UNIX;
  std::memcpy(made.address_.sun_path, address.data(), address.size());
  const bool is_abstract = address.front() == '@';
  if (is_abstract) made.address_.sun_path[0] = '\0';
  // An abstract name ends with its length, a path with a zero.
  made.length_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size() + (is_abstract ? 0 : 1));

  made.socket_ = UniqueFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  timeval limit{};
  limit.tv_sec = patience.count() / 1000;
  limit.tv_usec = patience.count() % 1000 * 1000;
  if (!made.socket_ || ::setsockopt(made.socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0)
    return Error::from_errno(errno, std::string(address));
  return made;
}

Result<void> Datagrams::send(std::string_view datagram) const {
  ssize_t sent = 0;
  do {
    sent = ::sendto(socket_.get(), datagram.data(), datagram.size(), MSG_NOSIGNAL,
                    reinterpret_cast<const sockaddr*>(&address_), length_);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return Error::from_errno(errno, "sending a datagram");
  return {};
}

}  // namespace dedupfs
