// The address of the control socket, for both ends. A Unix socket address holds only 107 bytes, and a path may lead elsewhere by
// now. So addresses go through /proc/self/fd and an open descriptor.
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

  // For the server: the socket's name in the folder that the server has open. kUnsupported for a folder without a descriptor.
  static Result<ControlAddress> in(const BackingFolder& volume);
  // For a client: the socket in the volume's folder. Symbolic links are not followed, so requests of root cannot be sent to
  // another program. kNotFound if there is no socket. A path that is not absolute is the address of a bucket, and has none.
  static Result<ControlAddress> of(const Path& volume);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// SO_PEERCRED.
Result<ucred> peer_of(int socket);

}  // namespace dedupfs
