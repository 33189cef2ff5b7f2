#include "mount/events/event_hooks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string_view>

#include "base/printable.h"
#include "base/unique_fd.h"
#include "base/write_all.h"
#include "json/document.h"

namespace dedupfs {
namespace {

bool is_left_out(const std::string& name) {
  constexpr std::array<std::string_view, 9> kEndings{"~",         ".bak",     ".dpkg-old", ".dpkg-dist", ".dpkg-new",
                                                     ".dpkg-tmp", ".rpmsave", ".rpmnew",   ".rpmorig"};
  return name.starts_with('.') || std::ranges::any_of(kEndings, [&](auto ending) { return name.ends_with(ending); });
}

// Empty if only root or this user can change it.
std::string distrust(const struct stat& status, const std::string& path) {
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) return path + " belongs to another user: it is not run";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return path + " can be changed by others: it is not run";
  return {};
}

// The same of a path without links and of each folder on the way to it: who can change one of them can put something else there. In a folder such as /tmp,
// others cannot touch what is not theirs.
std::string distrust_way(const Path& path) {
  Path way;
  for (const Path& part : path) {
    way /= part;
    struct stat status {};
    if (::lstat(way.c_str(), &status) != 0) return fmt::format("{}: {}", way.string(), std::strerror(errno));
    if (S_ISDIR(status.st_mode) && way != path && (status.st_mode & S_ISVTX) != 0)
      status.st_mode &= ~mode_t{S_IWGRP | S_IWOTH};
    if (const std::string why = distrust(status, way.string()); !why.empty()) return why;
  }
  return {};
}

// Standard input of a program: a file in memory, so that one that does not read it blocks nobody.
UniqueFd file_with(const std::string& text) {
  UniqueFd file(::memfd_create("dedupfs-event", MFD_CLOEXEC));
  if (!file || !write_all(file.get(), text) || ::lseek(file.get(), 0, SEEK_SET) != 0) return {};
  return file;
}

std::vector<std::string> environment_of(const Event& event, std::int64_t unix_seconds) {
  return {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
          "LANG=C.UTF-8",
          "DEDUPFS_EVENT=" + without_control_characters(event.name),
          "DEDUPFS_VOLUME=" + without_control_characters(event.volume),
          "DEDUPFS_MOUNTPOINT=" + without_control_characters(event.mountpoint),
          "DEDUPFS_MESSAGE=" + without_control_characters(event.message),
          "DEDUPFS_TIME=" + rfc3339_text(unix_seconds).value_or("")};
}

[[noreturn]] void become(const std::string& program, const std::vector<std::string>& environment, int input,
                         HookOutput output) {
  ::setpgid(0, 0);
  if (output == HookOutput::kStandardError) ::dup2(STDERR_FILENO, STDOUT_FILENO);
  if (input == STDIN_FILENO)
    ::fcntl(input, F_SETFD, 0);  // dup2(2) onto itself leaves close-on-exec
  else
    ::dup2(input, STDIN_FILENO);
  // What this process inherited is nothing for the program. Old kernels lack the call, and then it gets that.
  (void)::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
  std::vector<char*> variables;
  variables.reserve(environment.size() + 1);
  for (const std::string& variable : environment) variables.push_back(const_cast<char*>(variable.c_str()));
  variables.push_back(nullptr);
  std::array<char*, 2> arguments{const_cast<char*>(program.c_str()), nullptr};
  ::execve(program.c_str(), arguments.data(), variables.data());
  ::_exit(127);
}

// Leaves its exit status to waitpid(2).
bool ends_in_time(pid_t child, std::chrono::milliseconds limit) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  pollfd ended{process.get(), POLLIN, 0};
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    siginfo_t status{};
    if (::waitid(P_PID, static_cast<id_t>(child), &status, WEXITED | WNOHANG | WNOWAIT) == 0 && status.si_pid == child)
      return true;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) return false;
    // Without a descriptor of the process, as on old kernels, this is a short sleep.
    (void)::poll(&ended, 1, static_cast<int>(process ? left : std::min<std::int64_t>(left, 20)));
  }
}

// What went wrong; empty: nothing.
std::string await(pid_t child, const std::string& program, std::chrono::milliseconds limit) {
  const bool has_ended = ends_in_time(child, limit);
  if (!has_ended) {
    ::kill(-child, SIGKILL);
    ::kill(child, SIGKILL);  // before it was the leader of its group
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (!has_ended) return fmt::format("{} was killed after {} s", program, static_cast<double>(limit.count()) / 1000);
  if (WIFSIGNALED(status)) return fmt::format("{}: {}", program, ::strsignal(WTERMSIG(status)));
  if (WEXITSTATUS(status) == 127) return program + " could not be run";
  if (WEXITSTATUS(status) != 0) return fmt::format("{} failed with exit code {}", program, WEXITSTATUS(status));
  return {};
}

std::string run_one(const std::string& program, const Event& event, std::chrono::milliseconds limit,
                    HookOutput output) {
  const std::int64_t now = std::time(nullptr);
  const UniqueFd input = file_with(document_text("dedupfs-events", event_json(event, now), JsonLayout::kLine));
  if (!input) return fmt::format("{}: {}", program, std::strerror(errno));
  const std::vector<std::string> environment = environment_of(event, now);
  const pid_t child = ::fork();
  if (child < 0) return fmt::format("{}: {}", program, std::strerror(errno));
  if (child == 0) become(program, environment, input.get(), output);
  return await(child, program, limit);
}

}  // namespace

nlohmann::json event_json(const Event& event, std::int64_t unix_seconds) {
  return with_time({{"event", event.name},
                    {"volume", event.volume},
                    {"mountpoint", event.mountpoint},
                    {"message", event.message},
                    {"unix_seconds", unix_seconds},
                    {"facts", event.facts}},
                   "time", unix_seconds);
}

std::vector<std::string> run_event_hooks(const Path& folder, const Event& event, std::chrono::milliseconds limit,
                                         HookOutput output) {
  std::error_code error;
  const Path real_folder = std::filesystem::canonical(folder, error);
  if (error == std::errc::no_such_file_or_directory) return {};
  if (error) return {folder.string() + ": " + error.message()};
  if (const std::string why = distrust_way(real_folder); !why.empty()) return {why};
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator entry(real_folder, error), end; !error && entry != end;
       entry.increment(error))
    if (!is_left_out(entry->path().filename())) names.push_back(entry->path().filename());
  std::vector<std::string> failures;
  if (error) failures.push_back(real_folder.string() + ": " + error.message());
  std::ranges::sort(names);
  for (const std::string& name : names) {
    std::error_code gone;
    const Path program = std::filesystem::canonical(real_folder / name, gone);  // what is judged is what is run
    struct stat status {};
    if (gone || ::lstat(program.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || (status.st_mode & 0111) == 0)
      continue;
    std::string failure = distrust_way(program);
    if (failure.empty()) failure = run_one(program, event, limit, output);
    if (!failure.empty()) failures.push_back(std::move(failure));
  }
  return failures;
}

}  // namespace dedupfs
