// How both ends of the control socket find it. An address of a Unix socket holds 107 bytes, a path of a volume 4095, and a path
// may lead elsewhere by now: so addresses go through /proc/self/fd, from a descriptor.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include "base/backing.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace dedupfs {

struct ControlAddress {
  UniqueFd descriptor;  // keeps `address` valid
  sockaddr_un address{};
  uid_t volume_owner = 0;

  // For the server: the name of the socket in the folder that it has open. kUnsupported for a folder without a descriptor.
  static Result<ControlAddress> in(const BackingFolder& volume);
  // For a client: the very socket that is in the volume's folder now. A symbolic link in its place is not followed, so that
  // nobody sends root's requests to some other program. kNotFound if there is none.
  static Result<ControlAddress> of(const Path& volume);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// SO_PEERCRED.
Result<ucred> peer_of(int socket);

}  // namespace dedupfs
