// How both ends of the control socket name it. An address of a Unix socket holds 107 bytes, a path of a volume 4095: the
// address goes through /proc/self/fd, from a descriptor of the volume's folder.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include "base/backing.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace dedupfs {

struct ControlAddress {
  UniqueFd directory;  // keeps `address` valid
  sockaddr_un address{};

  static Result<ControlAddress> of(const Path& volume);
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// SO_PEERCRED.
Result<ucred> peer_of(int socket);

}  // namespace dedupfs
