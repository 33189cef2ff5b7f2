#include "mount/daemon/daemonize.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/write_all.h"

namespace dedupfs {

namespace {

constexpr int kExitInternal = 4;  // of mount(8)

// The report is one byte, the exit code, and the message.
std::string read_report(int fd) {
  std::string report;
  char buffer[4096];
  while (true) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return report;
    report.append(buffer, static_cast<std::size_t>(count));
  }
}

[[noreturn]] void wait_for_child(pid_t child, int fd) {
  const std::string report = read_report(fd);
  if (!report.empty()) {
    if (report.size() > 1) print_error(report.substr(1));
    std::exit(static_cast<unsigned char>(report[0]));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  print_error(WIFSIGNALED(status) ? fmt::format("the daemon died when it started: {}", ::strsignal(WTERMSIG(status)))
                                  : "the daemon ended when it started");
  std::exit(kExitInternal);
}

}  // namespace

void print_error(const std::string& message) {
  fmt::print(stderr, "dedupfs: {}\n", message);
}

Result<Startup> Startup::in_background() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "pipe");
  UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return Error::from_errno(errno, "fork");
  if (child > 0) {
    writing.reset();
    wait_for_child(child, reading.get());
  }
  return Startup(std::move(writing));
}

void Startup::succeeded() {
  if (std::exchange(reported_, true)) return;
  if (!report_) {
    if (!note_.empty()) print_error(note_);
    return;
  }
  ::setsid();
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null.get(), stream);
  (void)write_all(report_.get(), '\0' + note_);  // or the parent has gone
  report_.reset();
}

void Startup::failed(int exit_code, const std::string& message) {
  if (std::exchange(reported_, true)) return;
  if (!report_) return print_error(message);
  (void)write_all(report_.get(), static_cast<char>(exit_code) + message);  // or the parent has gone
  report_.reset();
}

}  // namespace dedupfs
