#include "fs/daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>
#include <utility>

#include "fs/control_requests.h"
#include "fs/control_socket.h"
#include "fs/daemonize.h"
#include "fs/file_statistics.h"
#include "fs/filesystem.h"
#include "fs/fuse_session.h"
#include "fs/mount_table.h"
#include "fs/reclaim_report.h"
#include "fs/remount.h"
#include "fs/scrub_report.h"
#include "fs/statistics.h"
#include "fs/unmount.h"

namespace dedupfs {

namespace {

Error wrong(std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message)};
}

bool is_inside(const Path& path, const Path& folder) {
  const auto [end_of_folder, ignored] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end_of_folder == folder.end();
}

// Both paths canonical, and such that a mount makes sense.
Result<MountRequest> checked(MountRequest request) {
  std::error_code error;
  const Path volume = std::filesystem::canonical(request.volume, error);
  if (error) return Error::from_errno(error.value(), "volume " + request.volume.string());
  request.volume = volume;

  struct stat status {};
  if (::stat(request.mountpoint.c_str(), &status) != 0) {
    const Error cause = Error::from_errno(errno, "mountpoint " + request.mountpoint.string());
    if (errno != ENOTCONN) return cause;
    return Error{cause.code(), cause.message() + "; a dead mount is there, unmount it first"};
  }
  if (!S_ISDIR(status.st_mode)) return wrong("mountpoint " + request.mountpoint.string() + " is not a directory");
  DEDUPFS_ASSIGN(request.mountpoint, canonical_mountpoint(request.mountpoint));

  if (is_inside(request.mountpoint, volume)) {
    return wrong(fmt::format("mountpoint {} is inside of the volume {}", request.mountpoint.string(), volume.string()));
  }
  if (is_inside(volume, request.mountpoint)) {
    return wrong(fmt::format("the volume {} is inside of the mountpoint {}, which would hide it", volume.string(),
                             request.mountpoint.string()));
  }
  return request;
}

Result<void> start_logging(const MountRequest& request) {
  try {
    if (!request.options.log_file.empty()) {
      spdlog::set_default_logger(spdlog::basic_logger_mt("dedupfs", request.options.log_file));
    } else if (request.foreground) {
      spdlog::set_default_logger(spdlog::stderr_logger_mt("dedupfs"));
    } else {
      spdlog::set_default_logger(spdlog::syslog_logger_mt("dedupfs", "dedupfs", LOG_PID, LOG_DAEMON));
    }
  } catch (const spdlog::spdlog_ex& exception) {
    return wrong(fmt::format("cannot log: {}", exception.what()));
  }
  spdlog::flush_on(spdlog::level::warn);
  return {};
}

// What a long-running process that works for others has to set.
void prepare_process() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of the one who mounted gives EFBIG, not death
  ::umask(0);
  [[maybe_unused]] const int ignored = ::chdir("/");
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
}

// The signals that end the daemon, and the one that ends the thread which waits for them.
sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&signals, signal);
  return signals;
}

void unmount_for_signal(const Path& mountpoint, FuseSession& session) {
  if (unmount(mountpoint, UnmountMode::kNormal)) return;  // the loop ends by itself
  spdlog::warn("{} is in use: programs that have files open there will get errors", mountpoint.string());
  {
    // What programs have written through mappings; open files keep the kernel from sending it by itself.
    const UniqueFd root(::open(mountpoint.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (root) ::syncfs(root.get());
  }
  // The loop will answer nobody any more, and an invalidation must not wait for a reader who waits for that.
  if (const auto result = unmount(mountpoint, UnmountMode::kAbort); !result)
    spdlog::warn("{}", result.error().message());
  session.stop();
}

// SIGTERM and its like unmount. The signals must be blocked in every thread.
class SignalThread {
 public:
  SignalThread(const Path& mountpoint, FuseSession& session)
      : thread_([=, this, &session] { run(mountpoint, session); }) {}
  ~SignalThread() {
    finished_ = true;
    ::pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }

 private:
  void run(const Path& mountpoint, FuseSession& session) {
    const sigset_t signals = ending_signals();
    while (!finished_) {
      int signal = 0;
      if (::sigwait(&signals, &signal) != 0 || signal == SIGUSR1) continue;
      spdlog::info("unmounting {} on signal {}", mountpoint.string(), signal);
      unmount_for_signal(mountpoint, session);
    }
  }

  std::atomic<bool> finished_{false};
  std::thread thread_;
};

// The kernel reads ahead 128 KiB by default, far too little for a request that crosses into a daemon and back.
void raise_read_ahead(const Path& mountpoint, std::uint64_t bytes) {
  const auto table = read_mount_table();
  const auto entry = table ? find_dedupfs_mount(*table, mountpoint) : std::nullopt;
  if (!entry) return;
  std::ofstream file("/sys/class/bdi/" + entry->device + "/read_ahead_kb");
  file << bytes / 1024 << std::flush;
  if (!file) spdlog::debug("the read-ahead of the kernel stays as it is: only root may change it");
}

std::uint64_t resident_bytes() {
  std::uint64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

Result<void> run_scrub_request(Scrubber& scrubber, const ScrubRequest& request) {
  switch (request.action) {
    case ScrubRequest::Action::kStatus: return {};
    case ScrubRequest::Action::kStart: return scrubber.start(request.bytes_per_second);
    case ScrubRequest::Action::kStop: scrubber.stop();
  }
  return {};
}

Result<void> run_reclaim_request(Reclaimer& reclaimer, ReclaimAction action) {
  switch (action) {
    case ReclaimAction::kStatus: return {};
    case ReclaimAction::kStart: return reclaimer.start({});
    case ReclaimAction::kPause: reclaimer.pause(); break;
    case ReclaimAction::kResume: reclaimer.resume(); break;
    case ReclaimAction::kStop: reclaimer.stop();
  }
  return {};
}

std::optional<ReclaimStatus> reclaim_status_of(Filesystem& filesystem) {
  if (filesystem.volume().read_only()) return std::nullopt;
  return filesystem.reclaimer().status();
}

ControlServer::Handlers control_handlers(Filesystem& filesystem, const MountRequest& request) {
  using Json = nlohmann::json;
  return {
      {"sync",
       [&filesystem](const Json&) -> Result<Json> {
         DEDUPFS_TRY(filesystem.sync());
         return Json::object();
       }},
      {"statistics",
       [&filesystem](const Json&) -> Result<Json> {
         if (!filesystem.volume().read_only()) DEDUPFS_TRY(filesystem.sync());
         DEDUPFS_ASSIGN(const Statistics statistics, compute_statistics(filesystem.volume()));
         return Json{
             {"statistics", statistics_json(statistics, filesystem.volume().superblock(),
                                            filesystem.scrubber().status(), reclaim_status_of(filesystem), true)}};
       }},
      {"files",
       [&filesystem](const Json& asked) -> Result<Json> {
         if (!filesystem.volume().read_only()) DEDUPFS_TRY(filesystem.sync());
         DEDUPFS_ASSIGN(const auto inodes, inodes_of(asked));
         DEDUPFS_ASSIGN(const auto statistics, compute_file_statistics(filesystem.volume(), inodes));
         return Json{{"files", file_statistics_json(statistics)}};
       }},
      {"scrub",
       [&filesystem](const Json& asked) -> Result<Json> {
         DEDUPFS_ASSIGN(const ScrubRequest scrub, scrub_request_of(asked));
         DEDUPFS_TRY(run_scrub_request(filesystem.scrubber(), scrub));
         return Json{{"scrub", scrub_json(filesystem.scrubber().status())}};
       }},
      {"reclaim",
       [&filesystem](const Json& asked) -> Result<Json> {
         DEDUPFS_ASSIGN(const ReclaimAction action, reclaim_action_of(asked));
         if (filesystem.volume().read_only())
           return Error{ErrorCode::kReadOnly, "the volume is mounted read-only; mount it for writing to reclaim space"};
         DEDUPFS_TRY(run_reclaim_request(filesystem.reclaimer(), action));
         return Json{{"reclaim", reclaim_json(filesystem.reclaimer().status())}};
       }},
      {"info",
       [&filesystem, &request](const Json&) -> Result<Json> {
         return Json{{"pid", ::getpid()},
                     {"version", request.version},
                     {"volume", request.volume.string()},
                     {"mountpoint", request.mountpoint.string()},
                     {"options", format_own_options(request.options)},
                     {"read_only", request.options.read_only},
                     {"dirty_bytes", filesystem.dirty_bytes()},
                     {"memory_bytes", resident_bytes()}};
       }},
  };
}

// umount(8) returns before the daemon has committed the last changes; who mounts again at once waits for that.
Result<std::unique_ptr<Volume>> open_when_closed(const Path& path, const VolumeOptions& options) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPatience = std::chrono::seconds(60);
  constexpr auto kPatienceWithoutDaemon = std::chrono::seconds(1);  // the socket goes a moment before the lock
  const auto start = Clock::now();
  auto last_seen = start;
  for (;;) {
    auto volume = Volume::open(path, options);
    if (volume || volume.error().code() != ErrorCode::kBusy) return volume;
    const auto table = read_mount_table();
    if (!table || find_dedupfs_mount(*table, path)) return volume;
    const auto now = Clock::now();
    if (ControlClient::connect(path)) last_seen = now;
    if (now >= last_seen + kPatienceWithoutDaemon || now >= start + kPatience) return volume;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Result<std::unique_ptr<Filesystem>> open_filesystem(const MountRequest& request) {
  const MountOptions& options = request.options;
  VolumeOptions volume_options;
  volume_options.read_only = options.read_only;
  volume_options.index_memory_bytes = options.index_memory_bytes;
  volume_options.cache_bytes = options.cache_bytes;
  volume_options.threads = options.threads;
  auto volume = open_when_closed(request.volume, volume_options);
  if (!volume) {
    if (volume.error().code() != ErrorCode::kReadOnly) return volume.error();
    return Error{ErrorCode::kReadOnly, volume.error().message() + "; mount it with -o ro"};
  }
  FilesystemOptions filesystem_options;
  filesystem_options.commit_interval = options.commit_interval;
  filesystem_options.checkpoint_interval = options.checkpoint_interval;
  filesystem_options.dirty_bytes = options.dirty_bytes;
  filesystem_options.atime = options.atime;
  return Filesystem::open(std::move(*volume), filesystem_options);
}

// A volume on a read-only disk, or one that others have mounted read-only already, goes without.
std::unique_ptr<ControlServer> start_control(Filesystem& filesystem, const MountRequest& request) {
  if (request.options.read_only && ControlClient::connect(request.volume)) return nullptr;
  auto server = ControlServer::start(request.volume, control_handlers(filesystem, request));
  if (server) return std::move(*server);
  spdlog::warn("without control socket: {}", server.error().message());
  return nullptr;
}

// When the kernel has asked its first question, and whoever uses the mount is answered. Nothing here may hold the mount: an
// unmount would find it busy. The kernel takes the lesser of the read-ahead that is set and what it is answered.
void report_mounted(const MountRequest& request, Startup& startup) {
  raise_read_ahead(request.mountpoint, request.options.read_ahead_bytes);
  spdlog::info("{} is mounted at {}", request.volume.string(), request.mountpoint.string());
  startup.succeeded();
}

Result<void> serve(Filesystem& filesystem, const MountRequest& request, Startup& startup) {
  FuseMount mount(filesystem, request.options);
  mount.when_connected([&] { report_mounted(request, startup); });
  DEDUPFS_ASSIGN(const std::unique_ptr<FuseSession> session,
                 FuseSession::mount(mount, request.mountpoint, request.volume.string()));
  const SignalThread signals(request.mountpoint, *session);
  return session->run();
}

// Serves the mount to its end. Whatever happens, what was written is committed.
int run_daemon(const MountRequest& request, Startup& startup) {
  auto filesystem = open_filesystem(request);
  if (!filesystem) {
    startup.failed(kMountFailed, filesystem.error().message());
    return kMountFailed;
  }
  const std::unique_ptr<ControlServer> control = start_control(**filesystem, request);
  const Result<void> served = serve(**filesystem, request, startup);
  if (!served) {
    spdlog::error("{}", served.error().message());
    startup.failed(kMountFailed, served.error().message());
  }
  const Result<void> closed = (*filesystem)->close();
  if (closed) {
    spdlog::info("{} is unmounted", request.volume.string());
  } else {
    spdlog::critical("the last changes are lost: {}", closed.error().message());
  }
  if (control) control->finish(closed);
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
  Result<Startup> startup = request->foreground ? Startup::in_foreground() : Startup::in_background();
  if (!startup) {
    print_error(startup.error().message());
    return kMountSystemError;
  }
  if (const auto logging = start_logging(*request); !logging) {
    startup->failed(kMountUsage, logging.error().message());
    return kMountUsage;
  }
  prepare_process();
  const sigset_t signals = ending_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return run_daemon(*request, *startup);
}

}  // namespace dedupfs
