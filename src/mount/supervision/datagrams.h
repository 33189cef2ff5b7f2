// Sends datagrams to a Unix socket of another program: those of systemd and of its journal.
//
// Ownership: owns its socket.
// Threads:   send() from any thread.
// Failure:   kInvalidArgument for an address that is none. A receiver that takes nothing delays send() by `patience`, not longer.
#pragma once

#include <sys/un.h>

#include <chrono>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace dedupfs {

class Datagrams {
 public:
  // `address`: an absolute path, or '@' and a name in the abstract namespace.
  static Result<Datagrams> to(std::string_view address, std::chrono::milliseconds patience);

  Result<void> send(std::string_view datagram) const;

 private:
  UniqueFd socket_;
  sockaddr_un address_{};
  socklen_t length_ = 0;
};

}  // namespace dedupfs
