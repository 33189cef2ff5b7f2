// What the folders of Backing::posix() make of system calls that are interrupted, do a part of their work, or find no space. The calls are
// this program's own: they stand in front of those of the C library.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <limits>

#include "base/backing.h"
#include "support/temp_dir.h"

namespace {

struct Outcome {
  int error = 0;  // of the call, which then does nothing
  std::size_t max_bytes = std::numeric_limits<std::size_t>::max();
};

std::deque<Outcome> outcomes;  // of the next calls; then they work
int calls = 0;

Outcome next_outcome() {
  ++calls;
  if (outcomes.empty()) return {};
  const Outcome outcome = outcomes.front();
  outcomes.pop_front();
  errno = outcome.error;
  return outcome;
}

}  // namespace

extern "C" {

ssize_t pread(int fd, void* data, std::size_t length, off_t offset) {
  const Outcome outcome = next_outcome();
  return outcome.error != 0 ? -1 : ::syscall(SYS_pread64, fd, data, std::min(length, outcome.max_bytes), offset);
}

ssize_t pwrite(int fd, const void* data, std::size_t length, off_t offset) {
  const Outcome outcome = next_outcome();
  return outcome.error != 0 ? -1 : ::syscall(SYS_pwrite64, fd, data, std::min(length, outcome.max_bytes), offset);
}

int ftruncate(int fd, off_t size) noexcept {
  return next_outcome().error != 0 ? -1 : static_cast<int>(::syscall(SYS_ftruncate, fd, size));
}

int fdatasync(int fd) {
  return next_outcome().error != 0 ? -1 : static_cast<int>(::syscall(SYS_fdatasync, fd));
}

int fsync(int fd) {
  return next_outcome().error != 0 ? -1 : static_cast<int>(::syscall(SYS_fsync, fd));
}
}

namespace dedupfs {
namespace {

class SystemCallsTest : public testing::Test {
 protected:
  void SetUp() override { file_ = std::move(folder_->open("file", Backing::Mode::kCreate).value()); }
  void TearDown() override { outcomes.clear(); }

  // The next calls go as it says.
  static void expect_calls(std::deque<Outcome> next) {
    outcomes = std::move(next);
    calls = 0;
  }
  std::string content() {
    outcomes.clear();
    return read_file(*folder_, "file", 1 << 20).value();
  }

  TempDir dir_;
  std::shared_ptr<BackingFolder> folder_ = Backing::posix()->open_root(dir_.path()).value();
  std::unique_ptr<BackingFile> file_;
};

TEST_F(SystemCallsTest, AWriteGoesOnWhereItWasInterruptedOrCutShort) {
  expect_calls({{.max_bytes = 3}, {.error = EINTR}, {.max_bytes = 1}, {.error = EAGAIN}, {.error = EINTR}});

  ASSERT_TRUE(file_->write(2, bytes_of("hello, world")));

  EXPECT_EQ(calls, 6);
  EXPECT_EQ(content(), std::string(2, '\0') + "hello, world");
}

TEST_F(SystemCallsTest, AReadGoesOnWhereItWasInterruptedOrCutShort) {
  ASSERT_TRUE(file_->write(0, bytes_of("hello, world")));
  expect_calls({{.error = EINTR}, {.max_bytes = 1}, {.error = EAGAIN}, {.max_bytes = 4}, {.error = EINTR}});
  ByteBuffer out(11);

  ASSERT_TRUE(file_->read(1, out));

  EXPECT_EQ(calls, 6);
  EXPECT_EQ(text_of(out), "ello, world");
}

TEST_F(SystemCallsTest, TheEndOfTheFileIsFoundBehindAShortRead) {
  ASSERT_TRUE(file_->write(0, bytes_of("abc")));
  expect_calls({{.max_bytes = 2}, {.error = EINTR}});
  ByteBuffer out(9);

  EXPECT_EQ(*file_->read_up_to(0, out), 3U);
}

TEST_F(SystemCallsTest, AnErrorBehindAShortWriteIsReported) {
  expect_calls({{.max_bytes = 3}, {.error = EIO}});

  const auto written = file_->write(0, bytes_of("hello"));

  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::kIo);
  EXPECT_EQ(content(), "hel");
}

TEST_F(SystemCallsTest, AnErrorBehindAShortReadIsReported) {
  ASSERT_TRUE(file_->write(0, bytes_of("hello")));
  expect_calls({{.max_bytes = 3}, {.error = EIO}});
  ByteBuffer out(5);

  const auto read = file_->read_up_to(0, out);

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::kIo);
}

TEST_F(SystemCallsTest, AWriteThatTakesNothingEnds) {
  expect_calls({{.max_bytes = 0}});

  const auto written = file_->write(0, bytes_of("hello"));

  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::kIo);
}

TEST_F(SystemCallsTest, SyncsAndTruncationsThatWereInterruptedAreRepeated) {
  expect_calls({{.error = EINTR}, {.error = EAGAIN}});
  EXPECT_TRUE(file_->datasync());
  EXPECT_EQ(calls, 3);

  expect_calls({{.error = EINTR}});
  EXPECT_TRUE(file_->truncate(7));
  EXPECT_EQ(calls, 2);

  expect_calls({{.error = EINTR}});
  EXPECT_TRUE(folder_->sync());
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(content().size(), 7U);
}

TEST_F(SystemCallsTest, ASyncThatFailedIsNotRepeated) {
  for (const int error : {EIO, ENOSPC, EDQUOT}) {
    expect_calls({{.error = error}});
    EXPECT_FALSE(file_->datasync());
    EXPECT_EQ(calls, 1);

    expect_calls({{.error = error}});
    EXPECT_FALSE(folder_->sync());
    EXPECT_EQ(calls, 1);
  }
}

TEST_F(SystemCallsTest, NotNowIsNotTakenForEver) {
  expect_calls(std::deque<Outcome>(1000, {.error = EAGAIN}));

  const auto written = file_->write(0, bytes_of("hello"));

  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::kIo);
}

TEST_F(SystemCallsTest, AQuotaThatIsUsedUpIsAFullDisk) {
  for (const int error : {ENOSPC, EDQUOT}) {
    expect_calls({{.max_bytes = 2}, {.error = error}});

    const auto written = file_->write(0, bytes_of("hello"));

    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code(), ErrorCode::kNoSpace);
  }
}

}  // namespace
}  // namespace dedupfs
