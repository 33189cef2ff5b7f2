#include "mount/supervision/service_manager.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "receiver.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using namespace std::chrono_literals;

struct ServiceManagerTest : testing::Test {
  ~ServiceManagerTest() override {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) ::unsetenv(name);
  }
  static void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

  TempDir folder;
  std::string address = folder.path() / "notify";
};

TEST_F(ServiceManagerTest, WithoutASocketThereIsNone) {
  set("WATCHDOG_USEC", "1000");
  const auto manager = ServiceManager::from_environment();
  EXPECT_FALSE(manager);
  EXPECT_EQ(manager.watchdog(), 0us);
  manager.notify("READY=1");  // goes nowhere
}

TEST_F(ServiceManagerTest, GetsWhatItIsTold) {
  Receiver receiver(address);
  set("NOTIFY_SOCKET", address);
  set("WATCHDOG_USEC", "30000000");
  set("WATCHDOG_PID", std::to_string(::getpid()));
  const auto manager = ServiceManager::from_environment();
  ASSERT_TRUE(manager);
  EXPECT_EQ(manager.watchdog(), 30s);
  manager.notify("READY=1\nSTATUS=ready");
  EXPECT_EQ(receiver.next(), "READY=1\nSTATUS=ready");
}

TEST_F(ServiceManagerTest, IsNotHeardOfByChildren) {
  const Receiver receiver(address);
  set("NOTIFY_SOCKET", address);
  set("WATCHDOG_USEC", "30000000");
  ASSERT_TRUE(ServiceManager::from_environment());
  EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr);
  EXPECT_EQ(std::getenv("WATCHDOG_USEC"), nullptr);
  EXPECT_FALSE(ServiceManager::from_environment());
}

TEST_F(ServiceManagerTest, WatchesNobodyElse) {
  const Receiver receiver(address);
  for (const char* usec : {"x", "-1", "0", "12x", "99999999999999999999", ""}) {
    set("NOTIFY_SOCKET", address);
    set("WATCHDOG_USEC", usec);
    EXPECT_EQ(ServiceManager::from_environment().watchdog(), 0us) << usec;
  }
  set("NOTIFY_SOCKET", address);
  set("WATCHDOG_USEC", "1000");
  set("WATCHDOG_PID", "1");
  EXPECT_EQ(ServiceManager::from_environment().watchdog(), 0us);
}

TEST_F(ServiceManagerTest, WithAnAddressThatIsNoneThereIsNone) {
  set("NOTIFY_SOCKET", "relative");
  EXPECT_FALSE(ServiceManager::from_environment());
}

}  // namespace
}  // namespace dedupfs
