#include "store/volume/ownership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "store/volume/volume.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

class OwnershipTest : public testing::Test {
 protected:
  OwnershipTest() { EXPECT_TRUE(Volume::create(path(), {})); }

  Path path() const { return dir_.path() / "volume"; }
  std::string foreign() const { return foreign_part(*folder_at(path()), ::geteuid()).value().value_or("nothing"); }
  void set_mode(const Path& part, mode_t mode) const { ASSERT_EQ(::chmod((path() / part).c_str(), mode), 0); }

  TempDir dir_;
};

TEST_F(OwnershipTest, AVolumeIsItsMakersAlone) {
  EXPECT_EQ(foreign(), "nothing");
}

TEST_F(OwnershipTest, WhatEverybodyCanWriteToIsForeign) {
  for (const char* const part : {"", "containers", "index"}) {
    set_mode(part, 0777);
    EXPECT_THAT(foreign(), HasSubstr("can be written by everybody")) << part;
    set_mode(part, 01777);
    EXPECT_THAT(foreign(), HasSubstr("can be written by everybody")) << part << ": others can make files there";
    set_mode(part, 0755);
  }
  for (const char* const part : {"superblock.json", "lock", "index/CURRENT"}) {
    set_mode(part, 0666);
    EXPECT_THAT(foreign(), HasSubstr(part));
    set_mode(part, 0644);
  }
  EXPECT_EQ(foreign(), "nothing") << "others may read";
}

TEST_F(OwnershipTest, WhatAGroupCanWriteToIsForeignUnlessItIsRoots) {
  if (::geteuid() != 0) GTEST_SKIP() << "groups of others need root";
  set_mode("containers", 0770);
  EXPECT_EQ(foreign(), "nothing");

  ASSERT_EQ(::chown((path() / "containers").c_str(), 0, 100), 0);

  ASSERT_EQ(::chmod((path() / "containers").c_str(), 0770), 0);
  EXPECT_THAT(foreign(), HasSubstr("containers can be written by group 100"));
}

TEST_F(OwnershipTest, RootRefusesWhatBelongsToAnother) {
  if (::geteuid() != 0) GTEST_SKIP() << "giving files to others needs root";
  for (const char* const part : {"", "containers", "index", "index/CURRENT", "superblock.copy.json"}) {
    ASSERT_EQ(::lchown((path() / part).c_str(), 65534, 0), 0);

    const auto refused = Volume::open(path(), {});
    ASSERT_FALSE(refused) << part;
    EXPECT_EQ(refused.error().code(), ErrorCode::kNotPermitted);
    EXPECT_THAT(refused.error().message(), HasSubstr("belongs to user 65534"));
    EXPECT_TRUE(Volume::open(path(), {.foreign = true})) << part;

    ASSERT_EQ(::lchown((path() / part).c_str(), 0, 0), 0);
  }
  EXPECT_TRUE(Volume::open(path(), {}));
}

TEST_F(OwnershipTest, AForeignVolumeThatIsInUseIsBusy) {
  if (::geteuid() != 0) GTEST_SKIP() << "giving files to others needs root";
  ASSERT_EQ(::chown(path().c_str(), 65534, 0), 0);
  const auto holder = Volume::open(path(), {.foreign = true});
  ASSERT_TRUE(holder);

  EXPECT_EQ(Volume::open(path(), {}).error().code(), ErrorCode::kBusy);
}

TEST_F(OwnershipTest, RootMakesNoVolumeInAFolderOfAnother) {
  if (::geteuid() != 0) GTEST_SKIP() << "giving files to others needs root";
  const Path empty = dir_.path() / "empty";
  std::filesystem::create_directory(empty);
  ASSERT_EQ(::chown(empty.c_str(), 65534, 0), 0);

  const auto refused = Volume::create(empty, {});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kNotPermitted);
  EXPECT_TRUE(std::filesystem::is_empty(empty));
  EXPECT_TRUE(Volume::create(empty, {.foreign = true}));
}

}  // namespace
}  // namespace dedupfs
