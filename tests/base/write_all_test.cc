#include "base/write_all.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace dedupfs {
namespace {

struct WriteAll : testing::Test {
  WriteAll() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reader = UniqueFd(ends[0]);
    writer = UniqueFd(ends[1]);
  }

  UniqueFd reader;
  UniqueFd writer;
};

TEST_F(WriteAll, WritesMoreThanAPipeTakesAtOnce) {
  const std::string text(1 << 20, 'x');
  std::string got;
  std::thread reading([&] {
    char buffer[4096];
    for (ssize_t count; (count = ::read(reader.get(), buffer, sizeof buffer)) > 0;)
      got.append(buffer, static_cast<std::size_t>(count));
  });

  EXPECT_TRUE(write_all(writer.get(), text));

  writer.reset();
  reading.join();
  EXPECT_EQ(got, text);
}

TEST_F(WriteAll, SaysWhyNotAllWasWritten) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  reader.reset();

  EXPECT_FALSE(write_all(writer.get(), "x"));
  EXPECT_EQ(errno, EPIPE);

  std::signal(SIGPIPE, before);
}

}  // namespace
}  // namespace dedupfs
