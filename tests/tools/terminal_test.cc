#include "terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>

namespace dedupfs::tools {
namespace {

using namespace std::chrono_literals;

// The standard input of this process is a terminal, and here are its keys.
class TypedInput {
 public:
  TypedInput() : before_(::dup(STDIN_FILENO)), keys_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    EXPECT_EQ(::grantpt(keys_), 0);
    EXPECT_EQ(::unlockpt(keys_), 0);
    char name[128];
    EXPECT_EQ(::ptsname_r(keys_, name, sizeof name), 0);
    const int terminal = ::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    EXPECT_EQ(::dup2(terminal, STDIN_FILENO), STDIN_FILENO);
    ::close(terminal);
  }
  ~TypedInput() {
    ::dup2(before_, STDIN_FILENO);
    ::close(before_);
    ::close(keys_);
  }
  TypedInput(const TypedInput&) = delete;
  TypedInput& operator=(const TypedInput&) = delete;

  void press(char key) const { EXPECT_EQ(::write(keys_, &key, 1), 1); }
  static bool waits_for_lines() {
    termios settings{};
    EXPECT_EQ(::tcgetattr(STDIN_FILENO, &settings), 0);
    return (settings.c_lflag & ICANON) != 0;
  }

 private:
  const int before_;
  const int keys_;
};

// The standard output of this process is a terminal.
class ShownOutput {
 public:
  ShownOutput() : before_(::dup(STDOUT_FILENO)), screen_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    EXPECT_EQ(::grantpt(screen_), 0);
    EXPECT_EQ(::unlockpt(screen_), 0);
    char name[128];
    EXPECT_EQ(::ptsname_r(screen_, name, sizeof name), 0);
    const int terminal = ::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    EXPECT_EQ(::dup2(terminal, STDOUT_FILENO), STDOUT_FILENO);
    ::close(terminal);
  }
  ~ShownOutput() {
    ::dup2(before_, STDOUT_FILENO);
    ::close(before_);
    ::close(screen_);
  }
  ShownOutput(const ShownOutput&) = delete;
  ShownOutput& operator=(const ShownOutput&) = delete;

 private:
  const int before_;
  const int screen_;
};

// A variable of the environment has another value, or null for none, for as long as this lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name); before != nullptr) before_ = before;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const char* value) const {
    if (value != nullptr) {
      ::setenv(name_, value, 1);
    } else {
      ::unsetenv(name_);
    }
  }

  const char* const name_;
  std::optional<std::string> before_;
};

// What is found with these variables. Failed expectations are printed to the standard output, so it is a terminal for no longer than this.
bool has_color(const char* no_color, const char* type) {
  const ShownOutput output;
  const Variable without("NO_COLOR", no_color);
  const Variable term("TERM", type);
  return own_terminal().has_color;
}

TEST(Terminal, HasColorUnlessNoColorIsSetToSomething) {
  EXPECT_TRUE(has_color(nullptr, "xterm"));
  EXPECT_TRUE(has_color("", "xterm")) << "no-color.org: present and not empty";
  EXPECT_FALSE(has_color("1", "xterm"));
  EXPECT_FALSE(has_color("0", "xterm")) << "whatever its value";
}

TEST(Terminal, HasNoColorIfItIsDumbOrUnknown) {
  EXPECT_FALSE(has_color(nullptr, "dumb"));
  EXPECT_FALSE(has_color(nullptr, nullptr));
  EXPECT_TRUE(has_color(nullptr, "dumber"));
}

TEST(Terminal, WhatIsNoTerminalHasNoColor) {
  const Variable without("NO_COLOR", nullptr);
  const Variable term("TERM", "xterm");
  const int before = ::dup(STDOUT_FILENO);
  const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(::dup2(nothing, STDOUT_FILENO), STDOUT_FILENO);
  const bool colored = own_terminal().has_color;
  ::dup2(before, STDOUT_FILENO);
  ::close(nothing);
  ::close(before);
  EXPECT_FALSE(colored);
}

TEST(Terminal, QEndsAWaitAndOtherKeysShortenIt) {
  const TypedInput input;
  const Terminal terminal = own_terminal();
  const auto keys = terminal.read_keys();

  input.press('x');
  EXPECT_FALSE(terminal.wait_for_quit(10min));
  input.press('q');
  EXPECT_TRUE(terminal.wait_for_quit(10min));
  EXPECT_FALSE(terminal.wait_for_quit(1ms));
}

TEST(Terminal, IsPutBack) {
  const TypedInput input;
  ASSERT_TRUE(input.waits_for_lines());
  {
    const auto keys = own_terminal().read_keys();
    EXPECT_FALSE(input.waits_for_lines());
  }
  EXPECT_TRUE(input.waits_for_lines());
}

TEST(Terminal, ShowsUtf8WhereTheLocaleSaysSo) {
  ::setenv("LC_ALL", "de_DE.UTF-8", 1);
  EXPECT_TRUE(own_terminal().has_utf8);
  ::setenv("LC_ALL", "C", 1);
  ::setenv("LANG", "de_DE.UTF-8", 1);
  EXPECT_FALSE(own_terminal().has_utf8) << "LC_ALL wins";
  ::unsetenv("LC_ALL");
}

}  // namespace
}  // namespace dedupfs::tools
