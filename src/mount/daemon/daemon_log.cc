#include "mount/daemon/daemon_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <mutex>
#include <utility>

#include "base/unique_fd.h"

namespace dedupfs {

namespace {

Result<UniqueFd> open_log_file(const std::string& path) {
  // Not waiting for the reader of a FIFO: without one it is an error.
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600));
  if (!file) {
    const Error cause = Error::from_errno(errno, path);
    return Error{ErrorCode::kInvalidArgument, fmt::format("cannot log to {}", cause.message())};
  }
  return file;
}

// spdlog's own file sinks leave the mode to the umask, and cannot open their file again.
class LogFile : public spdlog::sinks::base_sink<std::mutex> {
 public:
  LogFile(std::string path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}

  Result<void> reopen() {
    DEDUPFS_ASSIGN(UniqueFd file, open_log_file(path_));
    const std::lock_guard lock(mutex_);
    file_ = std::move(file);
    return {};
  }

 protected:
  // A line that finds no room on the disk is lost. No other place could report it.
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    [[maybe_unused]] const ssize_t written = ::write(file_.get(), line.data(), line.size());
  }
  void flush_() override {}

 private:
  const std::string path_;
  UniqueFd file_;
};

std::shared_ptr<LogFile> log_file;  // null: standard error, the journal or syslog

spdlog::sink_ptr journal_or_stderr(const JournalLog::Fields& fields) {
  if (stderr_is_journal()) {
    if (auto journal = JournalLog::open(fields)) return std::move(*journal);
  }
  return std::make_shared<spdlog::sinks::stderr_sink_mt>();
}

}  // namespace

Result<void> start_logging(const std::string& file, bool foreground, const JournalLog::Fields& fields) {
  if (!file.empty()) {
    DEDUPFS_ASSIGN(UniqueFd opened, open_log_file(file));
    log_file = std::make_shared<LogFile>(file, std::move(opened));
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("dedupfs", log_file));
  } else if (foreground) {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("dedupfs", journal_or_stderr(fields)));
  } else {
    // Not spdlog's own function for it, which throws if some other logger has had the name.
    constexpr bool kFormats = false;  // syslog itself names time and level
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "dedupfs", std::make_shared<spdlog::sinks::syslog_sink_mt>("dedupfs", LOG_PID, LOG_DAEMON, kFormats)));
  }
  spdlog::flush_on(spdlog::level::warn);
  return {};
}

void reopen_log() {
  if (!log_file) return;
  if (const auto reopened = log_file->reopen(); !reopened)
    spdlog::warn("the new log file could not be opened, so the old one stays in use: {}", reopened.error().message());
}

}  // namespace dedupfs
