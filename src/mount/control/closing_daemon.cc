#include "mount/control/closing_daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <system_error>
#include <thread>
#include <utility>

#include "base/unique_fd.h"
#include "mount/system/mount_holders.h"
#include "mount/system/mount_table.h"
#include "store/format/format.h"

namespace dedupfs {

namespace {

constexpr auto kPatienceWithoutDaemon = std::chrono::seconds(1);
constexpr auto kPatienceWithReaders = std::chrono::seconds(30);
constexpr auto kPatienceWithServing = std::chrono::seconds(60);

// As the table of mounts names the volume.
Path canonical_or_given(Path path) {
  std::error_code error;
  Path canonical = std::filesystem::canonical(path, error);
  return error ? std::move(path) : std::move(canonical);
}

// Whether nobody has the lock who writes. Asks for a shared one, to be in the way of as few as possible.
bool has_no_writer(const Path& volume) {
  const UniqueFd lock(::open((volume / kLockFile).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return !lock || ::flock(lock.get(), LOCK_SH | LOCK_NB) == 0;
}

}  // namespace

ClosingDaemon::ClosingDaemon(Path volume, Patience patience)
    : volume_(canonical_or_given(std::move(volume))), patience_(std::move(patience)) {
  if (!patience_.say) patience_.say = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
}

ClosingDaemon::Outcome ClosingDaemon::wait() {
  const auto table = read_mount_table();
  if (!table || find_dedupfs_mount(*table, volume_)) return Outcome::kMounted;
  auto daemon = ControlClient::connect(volume_, patience_);
  if (!daemon) return Outcome::kNobody;
  Result<void> closed = await_begin(*daemon);
  if (closed) closed = await_end(*daemon);
  last_seen_ = Clock::now();
  if (closed || closed.error().code() != ErrorCode::kInterrupted) return Outcome::kClosed;
  patience_.say(closed.error().message());
  return Outcome::kGaveUp;
}

// While it answers it does not close: its mount is in another mount namespace, or has gone a moment ago.
Result<void> ClosingDaemon::await_begin(ControlClient& daemon) const {
  MountEntry mount{.type = std::string(kMountType), .source = volume_.string()};
  Wait wait(fmt::format("process {}, which still serves {}, although it is not mounted here", daemon.daemon_pid(),
                        volume_.string()),
            {std::min<std::chrono::milliseconds>(patience_.limit, kPatienceWithServing), patience_.say});
  wait.explain([&] {
    const auto holders = find_mount_holders(mount);
    return holders.empty() ? std::string() : "it is mounted in another mount namespace, held by " + describe(holders);
  });
  return wait.until([&] {
    const auto info = daemon.request({{"command", "info"}});
    if (!info) return true;
    if (const auto named = read_answer([&] { return info->value("device", std::string()); })) mount.device = *named;
    return false;
  });
}

Result<void> ClosingDaemon::await_end(ControlClient& daemon) const {
  // Others could say for ever that they get on.
  const bool is_believed = daemon.daemon_user() == 0 || daemon.daemon_user() == ::geteuid();
  Wait wait(fmt::format("process {}, which is closing {}", daemon.daemon_pid(), volume_.string()), patience_);
  DEDUPFS_TRY(send_await_unmount(daemon));
  const auto closed = receive_await_unmount(
      daemon, [&](int socket) { return wait.for_events(socket, POLLIN); },
      [&](const std::string& progress) {
        if (is_believed) wait.note_progress(progress);
      });
  if (!closed) return closed.error();
  return {};
}

bool ClosingDaemon::wait_for_lock() {
  const Outcome outcome = wait();
  if (outcome == Outcome::kMounted || outcome == Outcome::kGaveUp) return false;
  if (outcome == Outcome::kNobody) {
    const auto waited = Clock::now() - last_seen_;
    if (waited >= kPatienceWithReaders || (waited >= kPatienceWithoutDaemon && !has_no_writer(volume_))) return false;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return true;
}

Error with_place(const Error& busy, const Path& volume) {
  const auto table = read_mount_table();
  const auto mount = table ? find_dedupfs_mount(*table, canonical_or_given(volume)) : std::nullopt;
  if (!mount) return busy;
  return {busy.code(), fmt::format("{} (it is mounted at {})", busy.message(), mount->mountpoint.string())};
}

void await_closing_daemon(const Path& volume) {
  if (!has_no_writer(volume)) (void)ClosingDaemon(volume).wait();
}

}  // namespace dedupfs
