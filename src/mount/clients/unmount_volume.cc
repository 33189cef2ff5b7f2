#include "mount/clients/unmount_volume.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iostream>
#include <optional>
#include <utility>

#include "base/size.h"
#include "base/unique_fd.h"
#include "mount/control/control_socket.h"
#include "mount/daemon/remount.h"
#include "mount/system/in_time.h"
#include "mount/system/mount_holders.h"
#include "mount/system/mount_table.h"
#include "store/format/superblock.h"

namespace dedupfs {

namespace {

using namespace std::chrono_literals;

// Less than this is not worth a line.
constexpr std::uint64_t kLandedToMention = 1 << 20;
// A forced unmount does not wait long for a daemon that does not answer.
constexpr std::chrono::milliseconds kPatienceOfForce = 10s;

class Unmounting {
 public:
  explicit Unmounting(const UnmountRequest& request) : request_(request) {
    if (!request_.patience.say) request_.patience.say = [](const std::string& line) { std::cerr << line << std::endl; };
  }

  Result<void> run() {
    DEDUPFS_TRY(find_mount());
    DEDUPFS_TRY(find_daemon());
    UniqueFd process;
    if (daemon_) {
      step("committing " + entry_.source);
      DEDUPFS_TRY(commit());
      process = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, daemon_->daemon_pid(), 0)));
      DEDUPFS_TRY(send_await_unmount(*daemon_));
    }
    DEDUPFS_TRY(unmount_or_protect());
    step(entry_.mountpoint.string() + " is unmounted");
    if (request_.mode == UnmountMode::kLazy || is_still_mounted_elsewhere()) return {};
    auto closed = daemon_ ? await_daemon(process) : await_lock();
    if (closed) step(entry_.source + " is closed");
    if (closed && landed_bytes_ >= kLandedToMention)
      say(fmt::format("{} of new data is not settled yet: it gets smaller by dedupfs-gc --settle {}",
                      human_size(landed_bytes_), entry_.source));
    return closed;
  }

 private:
  void say(const std::string& line) const { request_.patience.say(line); }
  void step(const std::string& line) const {
    if (request_.verbose) say(line);
  }
  bool takes_its_time() const { return request_.mode == UnmountMode::kNormal; }
  Patience patience() const {
    Patience patience = request_.patience;
    if (!takes_its_time()) patience.limit = std::min(patience.limit, kPatienceOfForce);
    return patience;
  }

  // ------------------------------------------------------------ the mount

  Result<void> find_mount() {
    DEDUPFS_ASSIGN(const Path path, canonical_mountpoint(request_.target));
    DEDUPFS_ASSIGN(const auto table, read_mount_table());
    auto entry = find_dedupfs_mount(table, path);
    if (!entry) return Error{ErrorCode::kNotFound, path.string() + ": no volume is mounted there"};
    entry_ = std::move(*entry);
    return {};
  }

  bool is_still_mounted_elsewhere() const {
    const auto table = read_mount_table();
    if (!table) return false;
    const auto other = std::ranges::find(*table, entry_.device, &MountEntry::device);
    if (other == table->end()) return false;
    step("it is mounted at " + other->mountpoint.string() + ", too: its daemon goes on");
    return true;
  }

  // Unmounting sends the remaining writes to the daemon. If the daemon does not take them, the system call hangs for ever.
  Result<void> unmount_in_time() const {
    auto done = do_in_time("the kernel to unmount " + entry_.mountpoint.string(), request_.patience,
                           [this] { return unmount(entry_.mountpoint, request_.mode); });
    if (done || done.error().code() != ErrorCode::kInterrupted) return done;
    const auto table = read_mount_table();
    const bool is_there = !table || find_dedupfs_mount(*table, entry_.mountpoint).has_value();
    return Error{is_there ? ErrorCode::kBusy : ErrorCode::kInterrupted, done.error().message()};
  }

  Result<void> unmount_or_protect() const {
    Result<void> result = unmount_in_time();
    if (result || !request_.read_only_on_failure || result.error().code() == ErrorCode::kInterrupted) return result;
    return remount_read_only(entry_);
  }

  // ------------------------------------------------------------ the daemon

  // Without one that can be asked and trusted daemon_ is empty.
  Result<void> find_daemon() {
    auto client = ControlClient::connect(entry_.source, patience());
    if (!client) {
      const bool of_another = client.error().code() == ErrorCode::kAccessDenied;
      if (of_another && ::geteuid() != 0) return client.error();
      if (client.error().code() == ErrorCode::kInterrupted) return not_answering(client.error());
      if (of_another || client.error().code() == ErrorCode::kCorruption) say(client.error().message());
      return {};
    }
    if (entry_.user && client->daemon_user() != 0 && client->daemon_user() != *entry_.user) {
      say(fmt::format(
          "process {1} of user {2} serves the control socket of {0}, but user {3} owns the mount: no request was sent",
          entry_.source, client->daemon_pid(), client->daemon_user(), *entry_.user));
      return {};
    }
    const auto info = client->request({{"command", "info"}});
    if (!info && info.error().code() == ErrorCode::kInterrupted) return not_answering(info.error());
    if (info && serves_this_mount(*info))
      daemon_ = std::move(*client);
    else
      step(fmt::format(
          "another program than the daemon of this mount serves the control socket of {}: no request was sent",
          entry_.source));
    return {};
  }

  bool serves_this_mount(const nlohmann::json& info) const {
    const auto device = read_answer([&] { return info.value("device", std::string()); });
    const auto mountpoint = read_answer([&] { return info.value("mountpoint", std::string()); });
    if (device && !device->empty()) return *device == entry_.device;
    return mountpoint && *mountpoint == entry_.mountpoint.string();  // a daemon of before there was "device"
  }

  Result<void> not_answering(const Error& error) const {
    if (!takes_its_time()) {
      say(error.message());
      return {};
    }
    return Error{ErrorCode::kBusy,
                 fmt::format("{} stays mounted, because its daemon does not answer: {} (to unmount anyway, use -f)",
                             entry_.mountpoint.string(), error.message())};
  }

  // All possible commits are done. A mount that became read-only meanwhile has nothing to commit.
  Result<void> commit() {
    const auto synced = daemon_->request({{"command", "sync"}});
    if (synced)
      if (const auto landed = read_answer([&] { return synced->value("landed_bytes", std::uint64_t{0}); }))
        landed_bytes_ = *landed;
    if (synced || request_.mode == UnmountMode::kForce) return {};
    return Error{ErrorCode::kIo, fmt::format("{} stays mounted, because its changes cannot be made durable: {} (to "
                                             "unmount anyway and lose them, use -f)",
                                             entry_.mountpoint.string(), synced.error().message())};
  }

  // ------------------------------------------------------------ its end

  // A copy of the mount in another mount namespace keeps the daemon alive.
  std::string why_it_lives() const {
    const auto holders = find_mount_holders(entry_.device);
    if (holders.empty()) return {};
    return fmt::format(
        "another mount namespace still has the mount, because of {}; end these processes, or unmount it there: nsenter "
        "-t {} -m umount {}",
        describe(holders), holders.front().process, holders.front().mountpoint.string());
  }

  Wait wait_for_end(std::string what) const {
    Wait wait(std::move(what), request_.patience);
    wait.explain([this] { return why_it_lives(); });
    return wait;
  }

  Result<void> await_daemon(const UniqueFd& process) {
    Wait wait = wait_for_end(fmt::format("the daemon, process {}, to close {}", daemon_->daemon_pid(), entry_.source));
    const auto closed = receive_await_unmount(
        *daemon_, [&](int socket) { return wait.for_events(socket, POLLIN); },
        [this](const std::string& text) { say("waiting for the daemon: " + text); });
    if (!closed && closed.error().code() == ErrorCode::kInterrupted)
      return closed.error().with(entry_.mountpoint.string() + " is unmounted, but some changes may not be durable");
    if (process) DEDUPFS_TRY(wait.for_events(process.get(), POLLIN));
    if (!closed) return closed.error().with("unmounted, but the last changes may be lost");
    DEDUPFS_ASSIGN(const std::string warning, read_answer([&] { return closed->value("warning", std::string()); }));
    if (!warning.empty()) say("warning: " + warning);
    return {};
  }

  // A daemon holds the lock of its volume to the last moment: one that writes for itself, those that read share it.
  Result<void> await_lock() const {
    if (entry_.is_in_bucket()) return {};  // nothing is written to it
    const UniqueFd lock(
        ::open((Path(entry_.source) / kLockFile).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!lock) return {};
    return wait_for_end(fmt::format("the lock of {}, which its daemon holds", entry_.source)).until([&] {
      if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return true;
      const auto table = read_mount_table();
      return !table || find_dedupfs_mount(*table, Path(entry_.source)).has_value();  // another reader's
    });
  }

  UnmountRequest request_;
  MountEntry entry_;
  std::optional<ControlClient> daemon_;
  std::uint64_t landed_bytes_ = 0;
};

}  // namespace

Result<void> unmount_volume(const UnmountRequest& request) {
  return Unmounting(request).run();
}

}  // namespace dedupfs
