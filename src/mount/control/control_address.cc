#include "mount/control/control_address.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "store/format/superblock.h"

namespace dedupfs {
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

}  // namespace

Result<ControlAddress> ControlAddress::in(const BackingFolder& volume) {
  const auto folder = volume.descriptor();
  if (!folder) return Error{ErrorCode::kUnsupported, volume.path().string() + " cannot hold a control socket"};
  ControlAddress result;
  result.descriptor = UniqueFd(::fcntl(*folder, F_DUPFD_CLOEXEC, 0));
  if (!result.descriptor) return Error::from_errno(errno, volume.path().string());
  result.address = address_of(fmt::format("/proc/self/fd/{}/{}", result.descriptor.get(), kControlSocket));
  return result;
}

Result<ControlAddress> ControlAddress::of(const Path& volume) {
  if (!volume.is_absolute())
    return Error{ErrorCode::kNotFound, volume.string() + " is no folder of this machine, and has no control socket"};
  const UniqueFd folder(::open(volume.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat folder_status {};
  if (!folder || ::fstat(folder.get(), &folder_status) != 0) return Error::from_errno(errno, volume.string());
  ControlAddress result;
  result.volume_owner = folder_status.st_uid;
  const Path socket = volume / kControlSocket;
  result.descriptor =
      UniqueFd(::openat(folder.get(), std::string(kControlSocket).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!result.descriptor || ::fstat(result.descriptor.get(), &status) != 0)
    return Error::from_errno(errno, socket.string());
  if (!S_ISSOCK(status.st_mode))
    return Error{ErrorCode::kCorruption, socket.string() + " is not a socket; remove it, and mount the volume again"};
  result.address = address_of(fmt::format("/proc/self/fd/{}", result.descriptor.get()));
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
