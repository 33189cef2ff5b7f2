#include "fs/unmount_volume.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>

#include "base/unique_fd.h"
#include "fs/control_socket.h"
#include "fs/mount_table.h"
#include "fs/remount.h"
#include "store/superblock.h"

namespace dedupfs {

namespace {

Result<MountEntry> find_mount(const Path& target) {
  DEDUPFS_ASSIGN(const Path path, canonical_mountpoint(target));
  DEDUPFS_ASSIGN(const auto table, read_mount_table());
  if (auto entry = find_dedupfs_mount(table, path)) return std::move(*entry);
  return Error{ErrorCode::kNotFound, path.string() + ": no volume is mounted there"};
}

// The daemon that serves this mount, if it can be asked: one whose volume is on a read-only disk cannot, and it may be dead.
Result<std::optional<ControlClient>> connect_to_daemon(const MountEntry& entry) {
  auto client = ControlClient::connect(entry.source);
  if (!client) {
    if (client.error().code() == ErrorCode::kAccessDenied) return client.error();
    return std::optional<ControlClient>();
  }
  DEDUPFS_ASSIGN(const nlohmann::json info, client->request({{"command", "info"}}));
  DEDUPFS_ASSIGN(const std::string mountpoint, read_answer([&] { return info.value("mountpoint", std::string()); }));
  if (mountpoint != entry.mountpoint.string()) return std::optional<ControlClient>();
  return std::optional<ControlClient>(std::move(*client));
}

bool is_still_mounted_elsewhere(const MountEntry& entry) {
  const auto table = read_mount_table();
  return table && std::ranges::any_of(*table, [&](const MountEntry& other) { return other.device == entry.device; });
}

void wait_for_end(const UniqueFd& process) {
  if (!process) return;
  pollfd polled{process.get(), POLLIN, 0};
  while (::poll(&polled, 1, -1) < 0 && errno == EINTR) continue;
}

// A daemon holds the lock of its volume to the last moment: one that writes for itself, those that read share it.
void wait_for_lock(const Path& volume) {
  const UniqueFd lock(::open((volume / kLockFile).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!lock) return;
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    const auto table = read_mount_table();
    if (!table || find_dedupfs_mount(*table, volume)) return;  // another reader's
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// What could be committed is; a mount that was made read-only meanwhile has nothing to commit.
Result<void> commit(ControlClient& daemon, const MountEntry& entry, UnmountMode mode) {
  const auto synced = daemon.request({{"command", "sync"}});
  if (synced || mode == UnmountMode::kForce) return {};
  return synced.error().with(entry.mountpoint.string() +
                             " stays mounted, its changes cannot be made durable (-f unmounts "
                             "all the same, and loses them)");
}

Result<void> unmount_or_protect(const MountEntry& entry, const UnmountRequest& request) {
  Result<void> result = unmount(entry.mountpoint, request.mode);
  if (result || !request.read_only_on_failure) return result;
  return remount_read_only(entry);
}

}  // namespace

Result<void> unmount_volume(const UnmountRequest& request, std::ostream& progress) {
  DEDUPFS_ASSIGN(const MountEntry entry, find_mount(request.target));
  DEDUPFS_ASSIGN(std::optional<ControlClient> daemon, connect_to_daemon(entry));
  UniqueFd process;
  if (daemon) {
    progress << "committing " << entry.source << '\n';
    DEDUPFS_TRY(commit(*daemon, entry, request.mode));
    process = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, daemon->daemon_pid(), 0)));
    DEDUPFS_TRY(daemon->send({{"command", ControlServer::kAwaitUnmount}}));
  }
  DEDUPFS_TRY(unmount_or_protect(entry, request));
  progress << entry.mountpoint.string() << " is unmounted\n";
  if (request.mode == UnmountMode::kLazy || is_still_mounted_elsewhere(entry)) return {};

  if (!daemon) {
    wait_for_lock(entry.source);
    return {};
  }
  progress << fmt::format("waiting for the daemon, process {}\n", daemon->daemon_pid()) << std::flush;
  const auto closed = daemon->receive();
  wait_for_end(process);
  if (!closed) return closed.error().with("unmounted, but the last changes may be lost");
  progress << entry.source << " is closed\n";
  return {};
}

}  // namespace dedupfs
