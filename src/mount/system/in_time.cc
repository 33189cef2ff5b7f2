#include "mount/system/in_time.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/unique_fd.h"
#include "base/write_all.h"

namespace dedupfs {
namespace {

// 0 and the answer, or the code of an error and its message.
std::string report_of(const Result<std::string>& result) {
  if (result) return std::string(1, '\0') + *result;
  return std::string(1, static_cast<char>(1 + static_cast<int>(result.error().code()))) + result.error().message();
}
Result<std::string> result_of(const std::string& report, const std::string& what) {
  if (report.empty()) return Error{ErrorCode::kIo, "waiting for " + what + ": the helper process ended early"};
  if (report[0] == '\0') return report.substr(1);
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

std::string answer_of(const Path& path) {
  return "an answer of the filesystem at " + path.string();
}

// What a system call says of a path.
template <class Status>
Result<Status> status_in_time(const Path& path, const Patience& patience, int (*look)(const char*, Status*)) {
  const auto ask = [&]() -> Result<std::string> {
    Status status{};
    if (look(path.c_str(), &status) != 0) return Error::from_errno(errno, path.string());
    return std::string(reinterpret_cast<const char*>(&status), sizeof status);
  };
  DEDUPFS_ASSIGN(const std::string answer, ask_in_time(answer_of(path), patience, ask));
  Status status{};
  if (answer.size() != sizeof status) return Error{ErrorCode::kIo, path.string() + ": the answer is incomplete"};
  std::memcpy(&status, answer.data(), sizeof status);
  return status;
}

}  // namespace

Result<std::string> ask_in_time(const std::string& what, const Patience& patience,
                                const std::function<Result<std::string>()>& call) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "pipe");
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return Error::from_errno(errno, "fork");
  if (child == 0) {
    (void)write_all(writer.get(), report_of(call()));
    ::_exit(0);
  }
  writer.reset();
  const auto report = read_in_time(reader.get(), Wait(what, patience));
  if (!report) {
    ::kill(child, SIGKILL);  // without a wait for its end: the kernel may hold it for ever
    return report.error();
  }
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  return result_of(*report, what);
}

Result<void> do_in_time(const std::string& what, const Patience& patience, const std::function<Result<void>()>& call) {
  const auto done = ask_in_time(what, patience, [&]() -> Result<std::string> {
    DEDUPFS_TRY(call());
    return std::string();
  });
  if (!done) return done.error();
  return {};
}

Result<Path> canonical_in_time(const Path& path) {
  const auto ask = [&]() -> Result<std::string> {
    std::error_code error;
    const Path canonical = std::filesystem::canonical(path, error);
    if (error) return Error::from_errno(error.value(), path.string());
    return canonical.string();
  };
  DEDUPFS_ASSIGN(const Path canonical, ask_in_time(answer_of(path), {}, ask));
  return canonical;
}

Result<struct stat> stat_in_time(const Path& path) {
  return status_in_time<struct stat>(path, {}, &::stat);
}

Result<struct stat> lstat_in_time(const Path& path) {
  return status_in_time<struct stat>(path, {}, &::lstat);
}

Result<struct statvfs> statvfs_in_time(const Path& path, const Patience& patience) {
  return status_in_time<struct statvfs>(path, patience, &::statvfs);
}

}  // namespace dedupfs
