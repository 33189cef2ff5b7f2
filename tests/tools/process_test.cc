#include "process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace dedupfs::tools {
namespace {

TEST(Process, ASignalAsksToStopOnce) {
  const Process process = own_process();
  process.catch_stop_signals();
  EXPECT_FALSE(process.stop_was_asked_for());

  std::raise(SIGHUP);

  EXPECT_TRUE(process.stop_was_asked_for());
  struct sigaction action {};
  ::sigaction(SIGHUP, nullptr, &action);
  EXPECT_EQ(action.sa_handler, SIG_DFL) << "the second one ends the process";
}

TEST(Process, WithoutOneNothingAsksToStop) {
  const Process process;

  process.catch_stop_signals();

  EXPECT_FALSE(process.stop_was_asked_for());
  EXPECT_FALSE(process.err_is_terminal);
}

}  // namespace
}  // namespace dedupfs::tools
