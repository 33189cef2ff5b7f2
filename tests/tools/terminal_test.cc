#include "terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>

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
