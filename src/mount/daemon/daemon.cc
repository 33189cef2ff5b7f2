#include "mount/daemon/daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <utility>

#include "base/guarded.h"
#include "base/many_files.h"
#include "base/memory_reserve.h"
#include "base/printable.h"
#include "base/size.h"
#include "fs/namespace/filesystem.h"
#include "mount/control/closing_daemon.h"
#include "mount/control/control_socket.h"
#include "mount/daemon/closing.h"
#include "mount/daemon/control_handlers.h"
#include "mount/daemon/daemon_log.h"
#include "mount/daemon/daemonize.h"
#include "mount/daemon/dead_mount.h"
#include "mount/daemon/hardening.h"
#include "mount/daemon/head_follower.h"
#include "mount/daemon/open_filesystem.h"
#include "mount/daemon/public_questions.h"
#include "mount/daemon/remount.h"
#include "mount/daemon/transfer_jobs.h"
#include "mount/daemon/unshipped_limit.h"
#include "mount/fuse/fuse_mount.h"
#include "mount/fuse/fuse_session.h"
#include "mount/options/memory_limits.h"
#include "mount/reports/connection_report.h"
#include "mount/reports/jobs_report.h"
#include "mount/supervision/supervision.h"
#include "mount/system/in_time.h"
#include "mount/system/mount_record.h"
#include "mount/system/mount_table.h"
#include "mount/system/unmount.h"
#include "replica/background/background_shipper.h"
#include "replica/store_patience.h"
#include "store/seal/secret.h"

namespace dedupfs {

namespace {

bool is_inside(const Path& path, const Path& folder) {
  const auto [end_of_folder, ignored] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end_of_folder == folder.end();
}

Result<void> require_apart(const Path& volume, const Path& mountpoint) {
  if (is_inside(mountpoint, volume)) {
    return invalid_argument(
        fmt::format("the mountpoint {} is inside the volume {}", mountpoint.string(), volume.string()));
  }
  if (is_inside(volume, mountpoint)) {
    return invalid_argument(fmt::format("the volume {} is inside the mountpoint {}: the mount would hide it",
                                        volume.string(), mountpoint.string()));
  }
  return {};
}

// Both paths canonical, and such that a mount makes sense.
Result<MountRequest> checked(MountRequest request) {
  if (!request.in_bucket) {
    const auto canonical = canonical_in_time(request.volume);
    if (!canonical) return canonical.error().with("volume");
    request.volume = *canonical;
  }
  const Path& volume = request.volume;
  DEDUPFS_ASSIGN(request.mountpoint, canonical_mountpoint(request.mountpoint));
  DEDUPFS_ASSIGN(const int dead, detach_dead_mounts(volume, request.mountpoint));
  if (dead > 0)
    print_error(fmt::format("the daemon of {} has died: its mount was removed, and the volume is mounted again",
                            request.mountpoint.string()));
  struct stat status {};
  if (::stat(request.mountpoint.c_str(), &status) != 0)
    return Error::from_errno(errno, "mountpoint " + request.mountpoint.string());
  if (!S_ISDIR(status.st_mode))
    return invalid_argument("mountpoint " + request.mountpoint.string() + " is not a directory");

  if (::geteuid() != 0 && (request.options.suid.value_or(false) || request.options.dev.value_or(false)))
    return invalid_argument("only root can use the mount options suid and dev: omit them");
  if (!request.in_bucket) DEDUPFS_TRY(require_apart(volume, request.mountpoint));
  return request;
}

// Free memory in one arena of the C library's heap is of no use to other arenas, and buffers of all sizes come and go here. With
// its default of eight for each CPU, half as much again as was in use lay idle.
void bound_idle_memory() {
  if (std::getenv("MALLOC_ARENA_MAX") != nullptr) return;  // the user has chosen
  const MemoryLimits limits = memory_limits();
  ::mallopt(M_ARENA_MAX, static_cast<int>(limits.malloc_arenas));
  if (limits.malloc_mmap_threshold != 0) ::mallopt(M_MMAP_THRESHOLD, static_cast<int>(limits.malloc_mmap_threshold));
}

// Enough for all threads to finish their operations, including blocks of file data and a batch of the index.
constexpr std::size_t kMemoryReserveBytes = 16 << 20;

// A bit longer than await_closing_daemon() waits without progress.
constexpr std::chrono::microseconds kTimeForAnotherDaemon = std::chrono::minutes(11);

// Settings of a long-running process that serves other users.
void prepare_process() {
  bound_idle_memory();
  install_memory_reserve(kMemoryReserveBytes);
  set_error_report([](const char* where, const Error& error) { spdlog::error("{}: {}", where, error.message()); });
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of the one who mounted gives EFBIG, not death
  ::umask(0);
  [[maybe_unused]] const int ignored = ::chdir("/");
  allow_many_files();
}

// The signals that end the daemon, SIGHUP, and the one that ends the thread which waits for them.
sigset_t handled_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&signals, signal);
  return signals;
}

void unmount_for_signal(const Path& mountpoint, FuseSession& session) {
  if (unmount(mountpoint, UnmountMode::kNormal)) return;  // the loop ends by itself
  spdlog::warn("{} is in use: programs that have files open there will get errors", mountpoint.string());
  {
    // Data that programs wrote through mappings. While files are open, the kernel does not send it by itself.
    const UniqueFd root(::open(mountpoint.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (root) ::syncfs(root.get());
  }
  // The loop answers no more requests. An invalidation must not wait for a reader that waits for such an answer.
  if (const auto result = unmount(mountpoint, UnmountMode::kAbort); !result)
    spdlog::warn("{}", result.error().message());
  session.stop();
}

// SIGTERM and SIGINT unmount; SIGHUP opens the log file again, as daemons do. The signals must be blocked in every thread.
class SignalThread {
 public:
  // `signalled` becomes the time of the first signal that unmounts; look at it when the thread has ended.
  SignalThread(const Path& mountpoint, FuseSession& session, std::optional<Closing::Clock::time_point>& signalled)
      : signalled_(signalled), thread_([=, this, &session] { run(mountpoint, session); }) {}
  ~SignalThread() {
    finished_ = true;
    ::pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }

 private:
  void run(const Path& mountpoint, FuseSession& session) {
    const sigset_t signals = handled_signals();
    while (!finished_) {
      int signal = 0;
      if (::sigwait(&signals, &signal) != 0 || signal == SIGUSR1) continue;
      if (signal == SIGHUP) {
        reopen_log();
        continue;
      }
      if (!signalled_) signalled_ = Closing::Clock::now();
      spdlog::info("unmounting {} on signal {}", mountpoint.string(), signal);
      while (!finished_ && !survive("unmounting on a signal", [&] { unmount_for_signal(mountpoint, session); }))
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  std::optional<Closing::Clock::time_point>& signalled_;
  std::atomic<bool> finished_{false};
  std::thread thread_;
};

// The device number of the mount, as in the kernel's list of mounts.
std::string device_of(const Path& mountpoint) {
  const auto table = read_mount_table();
  const auto entry = table ? find_dedupfs_mount(*table, mountpoint) : std::nullopt;
  return entry ? entry->device : std::string();
}

// The kernel reads ahead 128 KiB by default, far too little for a request that crosses into a daemon and back.
void raise_read_ahead(const std::string& device, std::uint64_t bytes) {
  if (device.empty()) return;
  std::ofstream file("/sys/class/bdi/" + device + "/read_ahead_kb");
  file << bytes / 1024 << std::flush;
  if (!file) spdlog::debug("the option readahead has no effect: only root may change it");
}

// 0: no limit.
std::uint64_t most_unshipped(const MountRequest& request) {
  if (request.in_bucket || request.options.read_only) return 0;
  return request.options.remote_unshipped_bytes.value_or(request.options.remote_cache_bytes);
}

// Null: the volume has no bucket, or does not write there. What others say of a bucket is not believed.
Result<std::unique_ptr<BackgroundShipper>> start_shipper(Filesystem& filesystem, const MountRequest& request) {
  if (request.options.read_only || request.options.foreign) return std::unique_ptr<BackgroundShipper>();
  auto shipper =
      BackgroundShipper::start(filesystem.volume(), [&filesystem] { return filesystem.sync_what_fits(); },
                               {.lag = request.options.remote_lag,
                                .grace = std::chrono::hours(request.options.remote_grace_hours),
                                .cache_bytes = request.options.remote_cache_bytes,
                                .most_lacking_bytes = most_unshipped(request),
                                .parallel = {.requests = static_cast<std::size_t>(request.options.remote_parallel),
                                             .memory = memory_limits().shipping},
                                .when_fenced = [&filesystem](const Error& fenced) { filesystem.end_changes(fenced); }});
  const bool is_remote = request.options.durability == Durability::kRemote;
  const bool has_cache = request.options.remote_cache_bytes != 0;
  if ((is_remote || has_cache || most_unshipped(request) != 0) && shipper && *shipper == nullptr)
    return invalid_argument(fmt::format(
        "-o {0}: {1} has no bucket that it writes to: dedupfs-remote attach {1} s3://... gives it one",
        is_remote ? "durability=remote" : (has_cache ? "remote_cache" : "remote_unshipped"), request.volume.string()));
  if (shipper && *shipper) {
    DEDUPFS_ASSIGN(const std::chrono::seconds patience,
                   store_patience());  // wrong settings are refused now, not by the first ship
    if (most_unshipped(request) != 0) limit_unshipped(filesystem, **shipper, memory_limits().fuse_threads, patience);
  }
  return shipper;
}

// What was written since the last time. Returns what to tell whoever unmounts, if it cannot be done: the volume itself loses nothing.
std::string ship_the_rest(BackgroundShipper& shipper, Closing& closing) {
  shipper.stop();
  const std::uint64_t before = shipper.shipped_bytes();
  const auto shipped = shipper.ship_now([&]() -> Result<void> {
    const bool goes_on = closing.goes_on([&] {
      return fmt::format("all changes are durable; shipping to {}, {} so far", shipper.address(),
                         human_size(shipper.shipped_bytes() - before));
    });
    if (goes_on) return {};
    return Error{ErrorCode::kInterrupted, "there was no time to ship the rest"};
  });
  if (shipped) return {};
  std::string warning = fmt::format("{} lacks what was written last: {}", shipper.address(), shipped.error().message());
  if (shipped.error().code() != kFenced) warning += "; the next mount ships it, or dedupfs-remote push";
  spdlog::warn("{}", warning);
  return warning;
}

struct Control {
  std::unique_ptr<StreamJobs> streams;
  std::unique_ptr<ControlServer> server;  // goes first: it hands connections to the streams

  void end_requests() const {
    if (server) server->end_requests();
    if (streams) streams->end_all();
  }
};

// A volume in a bucket or on a read-only disk, or one that others have mounted read-only already, goes without.
Control start_control(FuseMount& mount, const MountRequest& request, BackgroundShipper* shipper) {
  if (request.in_bucket || (request.options.read_only && ControlClient::connect(request.volume))) return {};
  const auto start = [&]() -> Result<Control> {
    const auto transfers = std::make_shared<RunningTransfers>();
    DEDUPFS_ASSIGN(auto streams, StreamJobs::make(transfer_jobs(mount, transfers)));
    DEDUPFS_ASSIGN(auto server,
                   ControlServer::start(*mount.filesystem().volume().folder(),
                                        control_handlers(mount, request, shipper, transfers), streams->handlers()));
    return Control{std::move(streams), std::move(server)};
  };
  auto control = start();
  if (control) return std::move(*control);
  spdlog::warn("the volume has no control socket: {}", control.error().message());
  return {};
}

// What each request takes, and a commit. A volume that cannot commit has answered, too.
void take_what_requests_take(FuseMount& mount) {
  {
    const QuiesceGate::Pass pass(mount.requests());
    (void)mount.filesystem().attributes(kRootInode);
  }
  (void)mount.hold_filesystem()->sync();
}

// Called when the kernel has sent its first request, and users of the mount get answers. Nothing here may hold the mount: an
// unmount would find it busy. The kernel takes the smaller of the read-ahead that is set and the one in the answer to its first
// request.
void report_mounted(FuseMount& mount, const MountRequest& request, Startup& startup, Supervision& supervision) {
  mount.set_device(device_of(request.mountpoint));
  raise_read_ahead(mount.device(), request.options.read_ahead_bytes);
  if (::geteuid() == 0) {
    if (const auto recorded = record_mount(request.mountpoint, request.volume.string()); !recorded)
      spdlog::warn("umount(8) will not wait for the end of {}: {}", request.volume.string(),
                   recorded.error().message());
  }
  spdlog::info("{} is mounted at {}", request.volume.string(), request.mountpoint.string());
  for (const std::string& fact : connection_facts(connection_json(mount.kernel_connection()))) spdlog::info("{}", fact);
  startup.succeeded();
  supervision.serving(fmt::format("ready: {} is mounted at {}", request.volume.string(), request.mountpoint.string()),
                      {.probe = [&mount] { take_what_requests_take(mount); },
                       .jobs = [&mount] { return jobs_line(background_jobs(*mount.hold_filesystem())); }});
}

Result<void> serve(FuseMount& mount, const MountRequest& request, Startup& startup, Supervision& supervision,
                   std::optional<Closing::Clock::time_point>& signalled) {
  mount.when_connected([&] { report_mounted(mount, request, startup, supervision); });
  DEDUPFS_ASSIGN(const std::unique_ptr<FuseSession> session,
                 FuseSession::mount(mount, request.mountpoint, request.volume.string()));
  const SignalThread signals(request.mountpoint, *session, signalled);
  // Those who wait until data is shipped keep nobody else from being served.
  const unsigned threads = memory_limits().fuse_threads;
  return session->run(most_unshipped(request) != 0 ? 2 * threads : threads);
}

// Commits, ships, writes the last checkpoint, and closes the volume. Clients that wait for the unmount get a report of each step. The next
// mount waits while a daemon answers at the control socket, so the socket closes last.
Result<void> close_volume(std::unique_ptr<Filesystem> filesystem, std::unique_ptr<BackgroundShipper> shipper,
                          const Control& control, const Path& volume, Supervision& supervision,
                          std::optional<Closing::Clock::time_point> signalled) {
  filesystem->give_up_waiting();  // also a stream that is received
  control.end_requests();
  supervision.closing("unmounting: waiting for the last commit");
  const auto report = [&](const std::string& progress) {
    supervision.closing("unmounting: " + progress);
    if (control.server) control.server->report(progress);
  };
  Closing closing({.is_told_to_end = is_ending_signal_pending, .report = report}, signalled);
  std::string warning = shipper ? ship_the_rest(*shipper, closing) : std::string();
  shipper.reset();
  Result<void> closed = filesystem->close([&](std::uint64_t records) {
    return closing.goes_on([records] {
      return fmt::format("all changes are durable; the last checkpoint has {} records so far", records);
    });
  });
  if (closed) {
    spdlog::info("{} is unmounted", volume.string());
  } else {
    spdlog::critical("the last changes are lost: {}", closed.error().message());
  }
  if (const std::optional<Error>& missing = filesystem->missing_checkpoint())
    warning += fmt::format("{}the checkpoint of the last state was not written: {}", warning.empty() ? "" : "; ",
                           missing->message());
  filesystem.reset();  // takes its time, too
  if (control.server) control.server->finish(closed, warning);
  return closed;
}

std::unique_ptr<HeadFollower> follow(FuseMount& mount, std::unique_ptr<Filesystem> filesystem,
                                     const MountRequest& request) {
  return std::make_unique<HeadFollower>(
      mount, std::move(filesystem),
      HeadFollower::Settings{.interval = request.options.remote_follow, .renew = request.renew, .open = [request] {
                               return open_filesystem(request, [](const std::string&) {});
                             }});
}

// Serves the mount until its end. In every case, written data is committed.
int run_daemon(const MountRequest& request, Startup& startup, Supervision& supervision) {
  supervision.opening("opening " + request.volume.string());
  auto filesystem = open_filesystem(request, [&](const std::string& progress) { supervision.opening(progress); });
  if (!filesystem) {
    startup.failed(kMountFailed, filesystem.error().message());
    return kMountFailed;
  }
  auto shipper = start_shipper(**filesystem, request);
  if (!shipper) {
    startup.failed(kMountFailed, shipper.error().message());
    return kMountFailed;
  }
  if (const auto copy = BackgroundShipper::status_of_copy((*filesystem)->volume());
      copy && !request.options.read_only && !request.options.foreign)
    startup.note(fmt::format("{0} is a copy of {1}, and ships nothing there: dedupfs-remote takeover {0} changes that",
                             request.volume.string(), copy->where.address));
  FuseMount mount(**filesystem, request.options);
  if (request.options.durability == Durability::kRemote && *shipper)
    mount.when_synced([shipper = shipper->get()] { return shipper->await_shipped(); });
  mount.answer_publicly(public_questions(mount, shipper->get()));
  const Control control = start_control(mount, request, shipper->get());
  (*filesystem)->volume().warn_of_small_index_memory();
  if (!are_secrets_locked() && has_swap()) spdlog::warn("{}", kUnlockedSecrets);
  std::unique_ptr<HeadFollower> follower;
  if (request.options.remote_follow.count() != 0) follower = follow(mount, std::move(*filesystem), request);
  std::optional<Closing::Clock::time_point> signalled;
  const Result<void> served = serve(mount, request, startup, supervision, signalled);
  supervision.stop_probing();
  if (::geteuid() == 0)
    (void)forget_mount(request.mountpoint);  // the program that unmounted it may have known nothing of the record
  if (!served) {
    spdlog::error("{}", served.error().message());
    startup.failed(kMountFailed, served.error().message());
  }
  if (follower) return served ? kMounted : kMountFailed;  // nothing is to be written
  const Result<void> closed =
      close_volume(std::move(*filesystem), std::move(*shipper), control, request.volume, supervision, signalled);
  if (!served) return kMountFailed;
  return closed ? kMounted : 1;
}

}  // namespace

int run_mount(const MountRequest& asked) {
  if (asked.options.remount) return run_remount(asked.mountpoint, asked.options);

  auto request = checked(asked);
  if (!request) {
    print_error(request.error().message());
    return kMountFailed;
  }
  // A daemon in the background speaks for nobody: the program that started it may be part of another service.
  const ServiceManager manager = request->foreground ? ServiceManager::from_environment() : ServiceManager();
  manager.notify(fmt::format("STATUS=waiting until no other daemon is closing {}\nEXTEND_TIMEOUT_USEC={}",
                             without_control_characters(request->volume.string()), kTimeForAnotherDaemon.count()));
  // Waits here and not in the background, so that an impatient user can end it.
  if (!request->in_bucket) await_closing_daemon(request->volume);
  Result<Startup> startup = request->foreground ? Startup::in_foreground() : Startup::in_background();
  if (!startup) {
    print_error(startup.error().message());
    return kMountSystemError;
  }
  if (const auto logging =
          start_logging(request->options.log_file, request->foreground,
                        {{"VOLUME", request->volume.string()}, {"MOUNTPOINT", request->mountpoint.string()}});
      !logging) {
    startup->failed(kMountUsage, logging.error().message());
    return kMountUsage;
  }
  request->inherited.close();  // the key is read, and the log is open: both may have been such files
  prepare_process();
  lock_secrets_again();  // a child of fork() has no locked memory
  harden_process({.is_root = ::geteuid() == 0, .core_dump = request->options.core_dump});
  const sigset_t signals = handled_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  Supervision supervision(manager);
  return run_daemon(*request, *startup, supervision);
}

}  // namespace dedupfs
