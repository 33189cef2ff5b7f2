#include "mount/daemon/daemonize.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "base/unique_fd.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::ExitedWithCode;

// The caller ends by exit(3), which must not meet threads of other tests: each of these runs in a program of its own.
struct Daemonize : testing::Test {
  Daemonize() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  ~Daemonize() override { GTEST_FLAG_SET(death_test_style, "fast"); }
};

// Ends with the exit code that a caller of the daemon sees.
[[noreturn]] void start_in_background(const std::function<void(Startup&)>& daemon) {
  auto startup = Startup::in_background();
  if (startup) daemon(*startup);
  ::_exit(0);
}

TEST_F(Daemonize, TheCallerSeesTheSuccess) {
  EXPECT_EXIT(start_in_background([](Startup& startup) { startup.succeeded(); }), ExitedWithCode(0), "^$");
}

TEST_F(Daemonize, TheCallerSeesTheFailureAndItsReason) {
  EXPECT_EXIT(start_in_background([](Startup& startup) { startup.failed(32, "the volume is damaged"); }),
              ExitedWithCode(32), "dedupfs: the volume is damaged");
}

TEST_F(Daemonize, TheFirstReportCounts) {
  EXPECT_EXIT(start_in_background([](Startup& startup) {
                startup.failed(32, "first");
                startup.failed(1, "second");
                startup.succeeded();
              }),
              ExitedWithCode(32), "^dedupfs: first\n$");
}

TEST_F(Daemonize, ALongReasonIsWhole) {
  EXPECT_EXIT(start_in_background([](Startup& startup) { startup.failed(2, std::string(100'000, 'x') + "end"); }),
              ExitedWithCode(2), "xxxend");
}

TEST_F(Daemonize, ADaemonThatEndsWithoutAReportIsAFailure) {
  EXPECT_EXIT(start_in_background([](Startup&) {}), ExitedWithCode(4), "the daemon ended when it started");
}

TEST_F(Daemonize, ADaemonThatIsKilledIsAFailure) {
  EXPECT_EXIT(start_in_background([](Startup&) { ::raise(SIGKILL); }), ExitedWithCode(4),
              "the daemon died when it started: Killed");
}

// A terminal that is closed must not end it, and nothing that it prints may go to one.
TEST_F(Daemonize, TheDaemonLeadsASessionAndItsStreamsLeadNowhere) {
  const TempDir folder;
  ::setenv("DEDUPFS_TEST_FIFO", (folder.path() / "fifo").c_str(), 0);  // the other program has that of this one
  const std::string fifo = std::getenv("DEDUPFS_TEST_FIFO");
  ::mkfifo(fifo.c_str(), 0600);
  const UniqueFd reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const auto report = [&](Startup& startup) {
    const UniqueFd writer(::open(fifo.c_str(), O_WRONLY | O_CLOEXEC));
    startup.succeeded();
    std::string text = ::getsid(0) == ::getpid() ? "leader" : "no leader";
    for (const char* stream : {"0", "1", "2"})
      text += " " + std::filesystem::read_symlink(std::string("/proc/self/fd/") + stream).string();
    (void)!::write(writer.get(), text.data(), text.size());
  };

  EXPECT_EXIT(start_in_background(report), ExitedWithCode(0), "");

  pollfd polled{reader.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&polled, 1, 10'000), 1);
  std::array<char, 200> text{};
  EXPECT_GT(::read(reader.get(), text.data(), text.size() - 1), 0);
  EXPECT_STREQ(text.data(), "leader /dev/null /dev/null /dev/null");
  ::unsetenv("DEDUPFS_TEST_FIFO");
}

TEST_F(Daemonize, InTheForegroundErrorsAreJustPrinted) {
  testing::internal::CaptureStderr();
  Startup startup = Startup::in_foreground();

  startup.failed(32, "the volume is damaged");

  EXPECT_EQ(testing::internal::GetCapturedStderr(), "dedupfs: the volume is damaged\n");
}

TEST_F(Daemonize, InTheForegroundASuccessChangesNothing) {
  testing::internal::CaptureStderr();
  Startup startup = Startup::in_foreground();

  startup.succeeded();
  startup.failed(32, "later");
  print_error("still seen");

  EXPECT_EQ(testing::internal::GetCapturedStderr(), "dedupfs: still seen\n");
}

}  // namespace
}  // namespace dedupfs
