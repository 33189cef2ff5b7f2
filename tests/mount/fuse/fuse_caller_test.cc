#include "mount/fuse/fuse_caller.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <sstream>

namespace dedupfs {
namespace {

std::optional<ProcessRights> parsed_rights(const std::string& text) {
  std::istringstream status(text);
  return parse_process_status(status);
}

TEST(FuseCaller, GroupsAndCapabilityComeFromTheStatus) {
  const std::string head = "Name:\tcat\nUid:\t1000\t1000\t1000\t1000\n";

  EXPECT_EQ(parsed_rights(head + "Groups:\t4 24 1000 \nCapEff:\t0000000000000010\n"),
            (ProcessRights{.groups = {4, 24, 1000}, .fsetid = true}));
  EXPECT_EQ(parsed_rights(head + "Groups:\t \nCapEff:\t000001ffffffffef\n"), ProcessRights{});
}

TEST(FuseCaller, AStatusWithoutTheLinesSaysNothing) {
  EXPECT_EQ(parsed_rights(""), std::nullopt);
  EXPECT_EQ(parsed_rights("Groups:\t1\n"), std::nullopt);
  EXPECT_EQ(parsed_rights("Groups:\tnone\nCapEff:\t10\n"), std::nullopt);
  EXPECT_EQ(parsed_rights("Groups:\t1\nCapEff:\tx\n"), std::nullopt);
}

TEST(FuseCaller, OfAThreadThatIsNotThereNothingIsKnown) {
  EXPECT_EQ(rights_of_thread(0), std::nullopt);
  EXPECT_EQ(rights_of_thread(1 << 30), std::nullopt);
}

bool is_killed_by(const std::string& text) {
  std::istringstream status(text);
  return says_killed(status);
}

// Bit n - 1 stands for signal n: 9 is 0x100, SIGQUIT (3) is 4, SIGALRM (14) is 0x2000.
TEST(FuseCaller, IsBeingKilledByWhatEndsItAndByNothingElse) {
  const std::string quiet = "SigBlk:\t0\nSigIgn:\t0\nSigCgt:\t0\n";
  EXPECT_TRUE(is_killed_by("SigPnd:\t0000000000000100\nShdPnd:\t0\n" + quiet));
  EXPECT_TRUE(is_killed_by("SigPnd:\t0\nShdPnd:\t0000000000000100\n" + quiet));
  EXPECT_TRUE(is_killed_by("SigPnd:\t0\nShdPnd:\t4\n" + quiet)) << "quit from the keyboard";
  EXPECT_FALSE(is_killed_by("SigPnd:\t0\nShdPnd:\t2000\nSigBlk:\t0\nSigIgn:\t0\nSigCgt:\t2000\n")) << "a timer";
  for (const std::string kept : {"SigBlk", "SigIgn", "SigCgt"})
    EXPECT_FALSE(is_killed_by("SigPnd:\t4\nShdPnd:\t4\n" + kept + ":\t4\n")) << kept;
  EXPECT_FALSE(is_killed_by("SigPnd:\t0\nShdPnd:\t8000000\n" + quiet)) << "a window that changes its size";
  EXPECT_FALSE(is_killed_by(""));
}

TEST(FuseCaller, WhoCannotBeLookedAtIsNotBeingKilled) {
  EXPECT_FALSE(is_being_killed(0));
  EXPECT_FALSE(is_being_killed(1 << 30));
  EXPECT_FALSE(is_being_killed(::gettid()));
}

TEST(FuseCaller, OurOwnGroupsAreThoseThatTheSystemSays) {
  std::vector<gid_t> groups(static_cast<std::size_t>(::getgroups(0, nullptr)));
  ASSERT_GE(::getgroups(static_cast<int>(groups.size()), groups.data()), 0);

  const auto rights = rights_of_thread(::gettid());

  ASSERT_TRUE(rights);
  EXPECT_EQ(rights->groups.size(), groups.size());
  if (::geteuid() == 0) {
    EXPECT_TRUE(rights->fsetid);
  }
}

}  // namespace
}  // namespace dedupfs
