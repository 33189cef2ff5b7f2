#include "mount/control/closing_daemon.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "mount/control/control_socket.h"
#include "store/format/format.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Outcome = ClosingDaemon::Outcome;

// A daemon of a volume that is not mounted any more.
struct ClosingDaemonTest : testing::Test {
  TempDir volume;
  std::unique_ptr<ControlServer> server;
  std::vector<std::string> lines;

  ClosingDaemon closing(std::chrono::milliseconds limit) {
    return ClosingDaemon(volume.path(), {limit, [this](const std::string& line) { lines.push_back(line); }});
  }
  UniqueFd locked(int how) {
    UniqueFd lock(::open((volume.path() / kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(::flock(lock.get(), how | LOCK_NB), 0);
    return lock;
  }
  void start_daemon(const ControlServer::Handlers& handlers = {}) {
    auto started = ControlServer::start(*folder_at(volume.path()), handlers);
    ASSERT_TRUE(started);
    server = std::move(*started);
  }
};

TEST_F(ClosingDaemonTest, WhereThereIsNoneNobodyIsWaitedFor) {
  EXPECT_EQ(closing(10s).wait(), Outcome::kNobody);
  EXPECT_TRUE(lines.empty());
}

TEST_F(ClosingDaemonTest, IsWaitedForAsLongAsItShowsProgress) {
  start_daemon();
  std::thread daemon([&] {
    for (int records = 0; records < 10; ++records) {
      std::this_thread::sleep_for(100ms);
      server->report("so many records: " + std::to_string(records));
    }
    server->finish({});
  });

  EXPECT_EQ(closing(500ms).wait(), Outcome::kClosed);

  daemon.join();
}

TEST_F(ClosingDaemonTest, OneWithoutProgressIsNotWaitedForForEver) {
  start_daemon();
  ClosingDaemon daemon = closing(200ms);

  EXPECT_EQ(daemon.wait(), Outcome::kGaveUp);

  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr("which is closing " + std::filesystem::canonical(volume.path()).string()));
  EXPECT_FALSE(daemon.wait_for_lock());
}

TEST_F(ClosingDaemonTest, OneThatStillServesIsNotSaidToBeClosing) {
  start_daemon({{"info", [](const nlohmann::json&) -> Result<nlohmann::json> { return nlohmann::json::object(); }}});

  EXPECT_EQ(closing(200ms).wait(), Outcome::kGaveUp);

  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr("though it is not mounted here"));
  server->end_requests();
  server->finish({});
  EXPECT_EQ(closing(10s).wait(), Outcome::kClosed);
}

TEST_F(ClosingDaemonTest, OneThatDiesIsGone) {
  start_daemon();
  std::thread death([&] {
    std::this_thread::sleep_for(100ms);
    server.reset();
  });

  EXPECT_EQ(closing(10s).wait(), Outcome::kClosed);

  death.join();
}

TEST_F(ClosingDaemonTest, ALockThatNobodyExplainsIsTriedForAMoment) {
  const UniqueFd lock = locked(LOCK_EX);
  ClosingDaemon nobody = closing(10s);
  const auto begin = std::chrono::steady_clock::now();

  while (nobody.wait_for_lock()) continue;

  EXPECT_GE(std::chrono::steady_clock::now() - begin, 1s);
}

TEST_F(ClosingDaemonTest, ReadersAreWaitedForLonger) {
  UniqueFd lock = locked(LOCK_SH);
  ClosingDaemon nobody = closing(10s);
  const auto begin = std::chrono::steady_clock::now();

  while (std::chrono::steady_clock::now() - begin < 1500ms) ASSERT_TRUE(nobody.wait_for_lock());

  lock.reset();
  lock = locked(LOCK_EX);  // now it is one who writes
  EXPECT_FALSE(nobody.wait_for_lock());
}

}  // namespace
}  // namespace dedupfs
