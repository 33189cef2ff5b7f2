#include "terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <thread>

namespace dedupfs::tools {
namespace {

TerminalSize size_of_output() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
  return {.columns = size.ws_col, .lines = size.ws_row};
}

// The destructor puts back what was set before.
class SingleKeys {
 public:
  explicit SingleKeys(const termios& before) : before_(before) {
    termios keys = before;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  ~SingleKeys() { ::tcsetattr(STDIN_FILENO, TCSANOW, &before_); }
  SingleKeys(const SingleKeys&) = delete;
  SingleKeys& operator=(const SingleKeys&) = delete;

 private:
  const termios before_;
};

std::shared_ptr<void> read_single_keys() {
  termios before{};
  if (::tcgetattr(STDIN_FILENO, &before) != 0) return nullptr;
  return std::make_shared<SingleKeys>(before);
}

bool wait_for_q(std::chrono::milliseconds duration) {
  if (::isatty(STDIN_FILENO) == 0) {
    ::poll(nullptr, 0, static_cast<int>(duration.count()));  // ends early at a signal
    return false;
  }
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  char key = 0;
  if (::poll(&input, 1, static_cast<int>(duration.count())) <= 0) return false;
  return ::read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q';  // or the terminal is gone
}

bool wants_color() {
  const char* const without = std::getenv("NO_COLOR");
  const char* const type = std::getenv("TERM");
  return (without == nullptr || *without == '\0') && type != nullptr && std::string_view(type) != "dumb";
}

// The first of these that is set says what the locale is: locale(7).
bool has_utf8_locale() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale = value;
    return locale.ends_with("UTF-8") || locale.ends_with("utf8");
  }
  return false;
}

}  // namespace

Terminal own_terminal() {
  const bool is_terminal = ::isatty(STDOUT_FILENO) != 0;
  return {.is_terminal = is_terminal,
          .has_color = is_terminal && wants_color(),
          .has_utf8 = has_utf8_locale(),
          .size = size_of_output,
          .read_keys = read_single_keys,
          .wait_for_quit = wait_for_q};
}

}  // namespace dedupfs::tools
