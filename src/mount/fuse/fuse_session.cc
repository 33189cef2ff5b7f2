#include "mount/fuse/fuse_session.h"

#include <fmt/format.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <thread>

#include "mount/fuse/fuse_operations.h"

namespace dedupfs {

namespace {

// libfuse explains errors in its log only.
thread_local std::string last_libfuse_message;

void take_libfuse_message(fuse_log_level level, const char* format, va_list arguments) {
  char line[1024];
  std::vsnprintf(line, sizeof line, format, arguments);
  std::string_view message(line);
  while (message.ends_with('\n')) message.remove_suffix(1);
  last_libfuse_message = message;
  const bool serious = level <= FUSE_LOG_ERR;
  spdlog::log(serious ? spdlog::level::warn : spdlog::level::debug, "{}", message);
}

Error libfuse_error(const Path& mountpoint) {
  std::string reason = last_libfuse_message.empty() ? "fusermount3 refused" : last_libfuse_message;
  return {ErrorCode::kIo, fmt::format("cannot mount at {}: {}", mountpoint.string(), reason)};
}

struct Arguments {
  explicit Arguments(const std::string& options) {
    fuse_opt_add_arg(&list, "dedupfs");
    fuse_opt_add_arg(&list, "-o");
    fuse_opt_add_arg(&list, options.c_str());
  }
  ~Arguments() { fuse_opt_free_args(&list); }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  fuse_args list = FUSE_ARGS_INIT(0, nullptr);
};

}  // namespace

Result<std::unique_ptr<FuseSession>> FuseSession::mount(FuseMount& mount, const Path& mountpoint,
                                                        std::string_view source) {
  fuse_set_log_func(take_libfuse_message);
  last_libfuse_message.clear();
  Arguments arguments(libfuse_options(mount.options(), source, ::geteuid() == 0));
  fuse_session* handle = fuse_session_new(&arguments.list, &fuse_operations(), known_operations_bytes(), &mount);
  if (handle == nullptr) return libfuse_error(mountpoint);
  std::unique_ptr<FuseSession> session(new FuseSession(mount, handle));
  if (fuse_session_mount(handle, mountpoint.c_str()) != 0) return libfuse_error(mountpoint);
  session->mounted_ = true;
  mount.attach(handle, protocol_of_libfuse());
  return session;
}

FuseSession::~FuseSession() {
  if (mounted_) fuse_session_unmount(session_);
  fuse_session_destroy(session_);
}

Result<void> FuseSession::run(unsigned threads) {
  // stop() has to get this thread out of a wait; see there.
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGUSR2, &action, nullptr);
  loop_thread_ = ::pthread_self();

  // No clone_fd: a device of its own for each thread gained nothing, measured with 1 MiB requests and with small ones.
  fuse_loop_config* config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_max_threads(config, threads);
  const int error = fuse_session_loop_mt(session_, config);
  fuse_loop_cfg_destroy(config);

  mount_.finish_invalidations();
  ended_ = true;
  if (error < 0) return Error::from_errno(-error, "the FUSE loop ended");
  return {};
}

void FuseSession::stop() {
  mount_.hold_filesystem()->give_up_waiting();  // the loop ends when its threads do
  fuse_session_exit(session_);
  // libfuse looks at the exit flag when a signal interrupts its wait. One may come between the look and the wait: repeat.
  while (!ended_) {
    if (const pthread_t thread = loop_thread_) ::pthread_kill(thread, SIGUSR2);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace dedupfs
