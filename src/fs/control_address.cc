#include "fs/control_address.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>

#include "store/superblock.h"

namespace dedupfs {

Result<ControlAddress> ControlAddress::of(const Path& volume) {
  ControlAddress result;
  result.directory = UniqueFd(::open(volume.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!result.directory) return Error::from_errno(errno, volume.string());
  result.address.sun_family = AF_UNIX;
  const auto end = fmt::format_to_n(result.address.sun_path, sizeof result.address.sun_path - 1, "/proc/self/fd/{}/{}",
                                    result.directory.get(), kControlSocket);
  *end.out = '\0';
  return result;
}

Result<ucred> peer_of(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    return Error::from_errno(errno, "control socket: who is the peer");
  }
  return peer;
}

}  // namespace dedupfs
