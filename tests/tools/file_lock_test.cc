#include "file_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "fs/test_filesystem.h"
#include "support/temp_dir.h"

namespace dedupfs::tools {
namespace {

using namespace std::chrono_literals;

class FileLockTest : public testing::Test {
 protected:
  Result<FileLock> take(std::chrono::milliseconds longest = {}) const {
    return FileLock::take(UniqueFd(::open(dir_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), dir_.path(),
                          "another has it", longest);
  }

  const TempDir dir_;
};

TEST_F(FileLockTest, IsRefusedWhileAnotherHasIt) {
  {
    const auto lock = take();
    ASSERT_TRUE(lock);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(fails_with(ErrorCode::kBusy, take(50ms)));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 50ms);
  }
  EXPECT_TRUE(take());
}

TEST_F(FileLockTest, IsNotSharedWithAForkedProcess) {
  pid_t helper = 0;
  {
    const auto lock = take();
    ASSERT_TRUE(lock);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    helper = ::fork();
    if (helper == 0) {
      (void)!::write(ends[1], "", 1);
      for (;;) ::pause();
    }
    ASSERT_GT(helper, 0);
    char runs = 0;
    EXPECT_EQ(::read(ends[0], &runs, 1), 1);
    ::close(ends[0]);
    ::close(ends[1]);
    EXPECT_TRUE(fails_with(ErrorCode::kBusy, take()));
  }

  EXPECT_TRUE(take());

  ::kill(helper, SIGKILL);
  ::waitpid(helper, nullptr, 0);
}

}  // namespace
}  // namespace dedupfs::tools
