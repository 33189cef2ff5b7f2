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
#include "mount/clients/sync_volume.h"
#include "mount/control/control_socket.h"
#include "mount/daemon/dead_mount.h"
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

  Result<Unmounted> run() {
    DEDUPFS_TRY(find_mount());
    DEDUPFS_TRY(find_daemon());
    UniqueFd process;
    step("committing " + entry_.source);
    if (!daemon_) {
      DEDUPFS_TRY(commit_through_mount());
    } else {
      DEDUPFS_TRY(commit());
      process = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, daemon_->daemon_pid(), 0)));
      DEDUPFS_TRY(send_await_unmount(*daemon_));
    }
    DEDUPFS_ASSIGN(const bool is_gone, unmount_or_protect());
    if (!is_gone) return Unmounted();
    step(entry_.mountpoint.string() + " is unmounted");
    if (request_.mode == UnmountMode::kLazy) return Unmounted();
    if (Unmounted unmounted{.elsewhere = other_place()}; unmounted.elsewhere) {
      if (lacks_commit_) return not_certain("its daemon could not store them");
      return unmounted;
    }
    auto closed = daemon_ ? await_daemon(process) : await_lock();
    if (!closed && closed.error().code() != ErrorCode::kInterrupted)
      return Error{ErrorCode::kInterrupted, closed.error().message()};  // it is unmounted all the same
    if (closed) step(entry_.source + " is closed");
    if (closed && landed_bytes_ >= kLandedToMention)
      say(fmt::format("{} of new data is not settled yet: it gets smaller by dedupfs-gc --settle {}",
                      human_size(landed_bytes_), entry_.source));
    if (!closed) return closed.error();
    return Unmounted();
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

  std::optional<Path> other_place() const {
    const auto table = read_mount_table();
    if (!table) return std::nullopt;
    const auto other =
        std::ranges::find_if(*table, [this](const MountEntry& entry) { return is_same_mount(entry, entry_); });
    if (other == table->end()) return std::nullopt;
    return other->mountpoint;
  }

  // Unmounting sends the remaining writes to the daemon. If the daemon does not take them, the system call hangs for ever.
  Result<void> unmount_in_time() const {
    auto done =
        do_in_time("the kernel to unmount " + entry_.mountpoint.string(), request_.patience,
                   // The question that hangs keeps the mount busy until the connection is aborted.
                   [this] { return unmount(entry_.mountpoint, mount_hangs_ ? UnmountMode::kAbort : request_.mode); });
    if (done || done.error().code() != ErrorCode::kInterrupted) return done;
    const auto table = read_mount_table();
    const bool is_there = !table || find_dedupfs_mount(*table, entry_.mountpoint).has_value();
    return Error{is_there ? ErrorCode::kBusy : ErrorCode::kInterrupted, done.error().message()};
  }

  // False: it is read-only now.
  Result<bool> unmount_or_protect() const {
    Result<void> result = unmount_in_time();
    if (result) return true;
    if (!request_.read_only_on_failure || result.error().code() == ErrorCode::kInterrupted) return result.error();
    DEDUPFS_TRY(remount_read_only(entry_));
    return false;
  }

  // ------------------------------------------------------------ the daemon

  // Without one that can be asked and trusted daemon_ is empty.
  Result<void> find_daemon() {
    auto client = ControlClient::connect(entry_.source, patience());
    if (!client) {
      const bool of_another = client.error().code() == ErrorCode::kAccessDenied;
      if (of_another && ::geteuid() != 0) return client.error();
      is_silent_ = client.error().code() == ErrorCode::kInterrupted;
      if (is_silent_) return not_answering(client.error());
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
    is_silent_ = !info && info.error().code() == ErrorCode::kInterrupted;
    if (is_silent_) return not_answering(info.error());
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
    return synced ? Result<void>() : not_durable(synced.error());
  }

  Result<void> not_durable(const Error& error) {
    if (request_.mode == UnmountMode::kForce) {
      lacks_commit_ = true;
      return {};
    }
    return Error{ErrorCode::kIo, fmt::format("{} stays mounted, because its changes cannot be made durable: {} (to "
                                             "unmount anyway and lose them, use -f)",
                                             entry_.mountpoint.string(), error.message())};
  }

  // ------------------------------------------------------------ a daemon that cannot be asked

  // The kernel carries the request to the daemon of this very mount.
  Result<void> commit_through_mount() {
    if (entry_.is_in_bucket()) return {};  // nothing is written to it
    lock_ = lock_of_daemon();
    if (is_silent_) return {};
    const auto dead = is_dead_mount(entry_.mountpoint, patience());
    if (dead && *dead) {
      is_dead_ = true;
      return {};
    }
    Result<void> synced = dead ? sync_mount(entry_, patience()) : dead.error();
    if (synced) return {};
    switch (synced.error().code()) {
      case ErrorCode::kInterrupted: mount_hangs_ = true; return not_answering(synced.error());
      case ErrorCode::kBusy: return synced;      // another filesystem lies on top
      case ErrorCode::kAccessDenied: return {};  // FUSE keeps out all but the user who mounted, root too
      default: lacks_commit_ = true; return not_durable(synced.error());
    }
  }

  // The daemon holds the lock to the last moment: one that writes for itself, those that read share it. Empty if nobody holds the
  // lock in this folder: the volume was moved, or the lock was removed.
  UniqueFd lock_of_daemon() const {
    UniqueFd lock(::open((Path(entry_.source) / kLockFile).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) lock.reset();
    return lock;
  }

  Error not_certain(std::string_view why) const {
    return {ErrorCode::kInterrupted,
            fmt::format("{} is unmounted, but some changes may not be durable: {}", entry_.mountpoint.string(), why)};
  }

  // ------------------------------------------------------------ its end

  // A copy of the mount in another mount namespace keeps the daemon alive.
  std::string why_it_lives() const {
    const auto holders = find_mount_holders(entry_);
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

  Result<void> await_lock() const {
    if (entry_.is_in_bucket()) return {};
    if (is_dead_ && !lock_) {
      say(fmt::format("the daemon of {} had died: what was not durable then is lost", entry_.mountpoint.string()));
      return {};
    }
    if (lock_) DEDUPFS_TRY(await_release());
    if (lacks_commit_) return not_certain("its daemon could not store them");
    if (entry_.is_read_only()) return {};
    if (!lock_)
      return not_certain(fmt::format(
          "its daemon has no control socket and no lock in {}, as after a move of that folder, and may still write",
          entry_.source));
    struct stat status {};
    if (::fstat(lock_.get(), &status) != 0 || status.st_size != 0)
      return not_certain(fmt::format("its daemon ended, but did not close {} in good order", entry_.source));
    return {};
  }

  Result<void> await_release() const {
    return wait_for_end(fmt::format("the lock of {}, which its daemon holds", entry_.source)).until([&] {
      if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return true;
      const auto table = read_mount_table();
      return !table || find_dedupfs_mount(*table, Path(entry_.source)).has_value();  // another reader's
    });
  }

  UnmountRequest request_;
  MountEntry entry_;
  std::optional<ControlClient> daemon_;
  UniqueFd lock_;              // held by a daemon that cannot be asked, before the unmount
  bool is_silent_ = false;     // something serves the control socket, and does not answer
  bool mount_hangs_ = false;   // a question through the mount has got no answer
  bool is_dead_ = false;       // the mount had no daemon any more
  bool lacks_commit_ = false;  // a commit through the mount has failed
  std::uint64_t landed_bytes_ = 0;
};

}  // namespace

Result<Unmounted> unmount_volume(const UnmountRequest& request) {
  return Unmounting(request).run();
}

}  // namespace dedupfs
