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
