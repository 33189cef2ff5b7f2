#include "fs/in_time.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/unique_fd.h"

namespace dedupfs {
namespace {

// The code, then the message.
std::string report_of(const Result<void>& result) {
  if (result) return std::string(1, '\0');
  return std::string(1, static_cast<char>(1 + static_cast<int>(result.error().code()))) + result.error().message();
}
Result<void> result_of(const std::string& report, const std::string& what) {
  if (report.empty()) return Error{ErrorCode::kIo, "waiting for " + what + ": the process for it has ended early"};
  if (report[0] == '\0') return {};
  return Error{static_cast<ErrorCode>(report[0] - 1), report.substr(1)};
}

Result<std::string> read_in_time(int descriptor, Wait wait) {
  std::string text;
  for (;;) {
    DEDUPFS_TRY(wait.for_events(descriptor, POLLIN));
    char buffer[4096];
    const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace

Result<void> do_in_time(const std::string& what, const Patience& patience, const std::function<Result<void>()>& call) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "pipe");
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return Error::from_errno(errno, "fork");
  if (child == 0) {
    const std::string report = report_of(call());
    [[maybe_unused]] const auto ignored = ::write(writer.get(), report.data(), report.size());
    ::_exit(0);
  }
  writer.reset();
  const auto report = read_in_time(reader.get(), Wait(what, patience));
  if (!report) return report.error();  // the child is left to itself: nobody can end one that is stuck in the kernel
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  return result_of(*report, what);
}

}  // namespace dedupfs
