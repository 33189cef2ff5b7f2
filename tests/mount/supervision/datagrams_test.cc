#include "mount/supervision/datagrams.h"

#include <gtest/gtest.h>

#include <string>

#include "receiver.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using namespace std::chrono_literals;

TEST(Datagrams, ReachASocketInTheFilesystem) {
  const TempDir folder;
  const std::string address = folder.path() / "socket";
  Receiver receiver(address);
  const auto datagrams = Datagrams::to(address, 1s);
  ASSERT_TRUE(datagrams);
  ASSERT_TRUE(datagrams->send("one"));
  ASSERT_TRUE(datagrams->send("two\n"));
  EXPECT_EQ(receiver.next(), "one");
  EXPECT_EQ(receiver.next(), "two\n");
}

TEST(Datagrams, ReachASocketInTheAbstractNamespace) {
  const std::string address = "@dedupfs-test-" + std::to_string(::getpid());
  Receiver receiver(address);
  const auto datagrams = Datagrams::to(address, 1s);
  ASSERT_TRUE(datagrams);
  ASSERT_TRUE(datagrams->send("READY=1"));
  EXPECT_EQ(receiver.next(), "READY=1");
}

TEST(Datagrams, RefuseWhatIsNoAddress) {
  for (const std::string& address :
       {std::string(), std::string("relative"), std::string("@"), std::string("/"), "/" + std::string(200, 'x')}) {
    const auto datagrams = Datagrams::to(address, 1s);
    ASSERT_FALSE(datagrams) << address;
    EXPECT_EQ(datagrams.error().code(), ErrorCode::kInvalidArgument);
  }
}

TEST(Datagrams, FailWhereNobodyListens) {
  const TempDir folder;
  const auto datagrams = Datagrams::to((folder.path() / "none").string(), 1s);
  ASSERT_TRUE(datagrams);
  EXPECT_FALSE(datagrams->send("x"));
}

TEST(Datagrams, DoNotWaitForeverForAReceiverThatTakesNothing) {
  const TempDir folder;
  const std::string address = folder.path() / "socket";
  const Receiver receiver(address);
  const auto datagrams = Datagrams::to(address, 20ms);
  ASSERT_TRUE(datagrams);
  int sent = 0;
  while (sent < 100'000 && datagrams->send("x")) ++sent;
  EXPECT_LT(sent, 100'000);
}

}  // namespace
}  // namespace dedupfs
