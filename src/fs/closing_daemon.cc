#include "fs/closing_daemon.h"

#include <fmt/format.h>

#include <cstdio>
#include <system_error>
#include <thread>
#include <utility>

#include "fs/control_socket.h"
#include "fs/mount_table.h"

namespace dedupfs {

namespace {

constexpr auto kPatience = std::chrono::seconds(60);
constexpr auto kPatienceWithoutDaemon =
    std::chrono::seconds(1);  // it is fsck, for example; the socket goes after the lock
constexpr auto kTellAfter = std::chrono::seconds(1);

// As the table of mounts names the volume.
Path canonical_or_given(Path path) {
  std::error_code error;
  Path canonical = std::filesystem::canonical(path, error);
  return error ? std::move(path) : std::move(canonical);
}

}  // namespace

ClosingDaemon::ClosingDaemon(Path volume) : volume_(canonical_or_given(std::move(volume))) {}

bool ClosingDaemon::wait() {
  const auto table = read_mount_table();
  if (!table || find_dedupfs_mount(*table, volume_)) return false;
  const auto now = Clock::now();
  const auto daemon = ControlClient::connect(volume_);
  if (daemon) last_seen_ = now;
  if (now >= last_seen_ + kPatienceWithoutDaemon || now >= start_ + kPatience) return false;
  if (daemon && !has_told_ && now >= start_ + kTellAfter) {
    has_told_ = true;
    fmt::print(stderr, "waiting for process {}, which is closing {}\n", daemon->daemon_pid(), volume_.string());
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return true;
}

}  // namespace dedupfs
