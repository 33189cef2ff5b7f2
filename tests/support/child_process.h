// Runs a part of a test in a process of its own, for what changes the whole process and cannot be undone.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <iostream>

namespace dedupfs {

inline constexpr int kNotAllowedHere = 77;  // the body may end with it: the test is skipped

// Expectations of the body count as those of the test. Other threads are not in the new process.
inline void in_child_process(const std::function<void()>& body) {
  std::cout << std::flush;
  std::fflush(nullptr);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    body();
    std::cout << std::flush;
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == kNotAllowedHere) GTEST_SKIP() << "this machine does not allow it";
  EXPECT_EQ(WEXITSTATUS(status), 0) << "see above";
}

}  // namespace dedupfs
