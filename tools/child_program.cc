#include "child_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "spawn_attributes.h"

namespace dedupfs::tools {
namespace {

constexpr std::chrono::milliseconds kLookInterval{100};

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
  std::vector<std::string> variables;
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (!more.contains(text.substr(0, text.find('=')))) variables.push_back(text);
  }
  for (const auto& [name, value] : more) variables.push_back(fmt::format("{}={}", name, value));
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

int exit_status_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<ChildProgram> ChildProgram::start(const ChildSettings& settings, Output output) {
  UniqueFd read_end;
  FileActions actions;
  UniqueFd write_end;
  if (output == Output::kPipe) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "a pipe");
    read_end = UniqueFd(ends[0]);
    write_end = UniqueFd(ends[1]);
    ::posix_spawn_file_actions_adddup2(actions.get(), write_end.get(), STDOUT_FILENO);
  } else {
    ::posix_spawn_file_actions_addopen(actions.get(), STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  }
  if (!settings.folder.empty()) ::posix_spawn_file_actions_addchdir_np(actions.get(), settings.folder.c_str());
  std::vector<std::string> words = settings.command;
  std::vector<std::string> variables = environment_with(settings.environment);
  SpawnAttributes attributes;
  pid_t pid = -1;
  const int failed = ::posix_spawnp(&pid, words[0].c_str(), actions.get(), attributes.get(), pointers_to(words).data(),
                                    pointers_to(variables).data());
  if (failed == ENOENT) return Error{ErrorCode::kNotFound, words[0] + " is not installed"};
  if (failed != 0) return Error::from_errno(failed, words[0]);
  return ChildProgram(pid, std::move(read_end));
}

ChildProgram::~ChildProgram() {
  if (pid_ < 0) return;
  output_ = {};  // a program that has more to print gets an error, and does not wait for a reader
  ::kill(pid_, SIGTERM);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::uint64_t ChildProgram::written_bytes() const {
  std::ifstream file(fmt::format("/proc/{}/io", pid_));
  std::string key;
  for (std::uint64_t value = 0; file >> key >> value;)
    if (key == "wchar:") return value;
  return 0;
}

Result<int> ChildProgram::wait(const std::function<bool(std::uint64_t written_bytes)>& goes_on) {
  for (bool is_told = false;; std::this_thread::sleep_for(kLookInterval)) {
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended < 0 && errno != EINTR) return Error::from_errno(errno, "waiting for a program");
    if (ended > 0) {
      pid_ = -1;
      return exit_status_of(status);
    }
    if (!is_told && !goes_on(written_bytes())) {
      ::kill(pid_, SIGTERM);
      is_told = true;
    }
  }
}

Result<std::string> ChildProgram::read_output(std::size_t limit) {
  std::string text;
  for (std::array<char, 4096> part{};;) {
    const ssize_t count = ::read(output_.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Error::from_errno(errno, "reading from a program");
    if (count == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
    if (text.size() > limit) return Error{ErrorCode::kTooLarge, "a program prints too much"};
  }
}

Result<std::string> output_of(const ChildSettings& settings, std::size_t limit) {
  DEDUPFS_ASSIGN(ChildProgram program, ChildProgram::start(settings, ChildProgram::Output::kPipe));
  DEDUPFS_ASSIGN(std::string output, program.read_output(limit));
  DEDUPFS_ASSIGN(const int status, program.wait([](std::uint64_t) { return true; }));
  if (status == 0) return output;
  return Error{ErrorCode::kIo, fmt::format("{} ended with status {}", settings.command[0], status)};
}

}  // namespace dedupfs::tools
