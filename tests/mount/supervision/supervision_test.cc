#include "mount/supervision/supervision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <string>

#include "receiver.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct SupervisionTest : testing::Test {
  ServiceManager manager(const char* watchdog) {
    ::setenv("NOTIFY_SOCKET", address.c_str(), 1);
    if (watchdog != nullptr) ::setenv("WATCHDOG_USEC", watchdog, 1);
    return ServiceManager::from_environment();
  }
  // The first message with this text.
  std::string next_with(const std::string& text) {
    for (;;) {
      const std::string message = receiver.next();
      if (message == "(nothing)" || message.find(text) != std::string::npos) return message;
    }
  }

  TempDir folder;
  std::string address = folder.path() / "notify";
  Receiver receiver{address};
};

TEST_F(SupervisionTest, TellsTheLifeOfAMount) {
  Supervision supervision(manager(nullptr));
  supervision.opening("opening /volume");
  EXPECT_THAT(receiver.next(), HasSubstr("STATUS=opening /volume"));
  supervision.serving("ready", {.probe = [] { FAIL() << "nobody wants to know"; }});
  EXPECT_EQ(receiver.next(), "READY=1\nSTATUS=ready");
  supervision.stop_probing();
  supervision.closing("unmounting");
  EXPECT_THAT(receiver.next(), HasSubstr("STOPPING=1"));
  supervision.closing("unmounting: 10 records");
  EXPECT_THAT(receiver.next(), Not(HasSubstr("STOPPING=1")));
}

TEST_F(SupervisionTest, ProbesAndTellsThatTheDaemonIsAlive) {
  Supervision supervision(manager("100000"));
  std::atomic<int> probes = 0;
  supervision.serving("ready", {.probe = [&] { ++probes; }});
  EXPECT_EQ(receiver.next(), "READY=1\nSTATUS=ready");
  while (probes < 2) EXPECT_EQ(receiver.next(), "WATCHDOG=1");
}

TEST_F(SupervisionTest, TellsHowFarTheJobsAre) {
  std::atomic<int> questions = 0;
  Supervision supervision(manager("20000"));
  supervision.serving("ready", {.probe = [] {}, .jobs = [&] { return "scrub " + std::to_string(++questions) + " %"; }});
  EXPECT_THAT(next_with("STATUS=ready; scrub 1 %"), HasSubstr("STATUS=ready; scrub 1 %"));
  EXPECT_THAT(next_with("STATUS=ready; scrub 2 %"), HasSubstr("STATUS=ready; scrub 2 %"));
}

TEST_F(SupervisionTest, WaitsForARunningProbe) {
  Supervision supervision(manager("20000"));
  std::promise<void> begun, end;
  bool ended = false;
  supervision.serving("ready", {.probe = [&] {
                        begun.set_value();
                        end.get_future().wait();
                        ended = true;
                      }});
  begun.get_future().wait();
  end.set_value();
  supervision.stop_probing();
  EXPECT_TRUE(ended);
}

TEST(Supervision, WithoutAServiceManagerDoesNothing) {
  Supervision supervision{ServiceManager()};
  supervision.opening("opening");
  supervision.serving("ready", {.probe = [] { FAIL(); }});
  supervision.stop_probing();
  supervision.closing("unmounting");
}

}  // namespace
}  // namespace dedupfs
