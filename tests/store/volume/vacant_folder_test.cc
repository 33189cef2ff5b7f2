#include "store/volume/vacant_folder.h"

#include <gtest/gtest.h>

#include "support/memory_disk.h"

namespace dedupfs {
namespace {

class VacantFolderTest : public testing::Test {
 protected:
  Result<std::shared_ptr<BackingFolder>> vacant(UnfinishedVolume& unfinished) {
    return vacant_folder("/volume", *disk_, unfinished);
  }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  const std::shared_ptr<BackingFolder> root_ = disk_->open_root("/").value();
};

TEST_F(VacantFolderTest, IsMadeAndRemovedAgainUnlessTheVolumeIsKept) {
  {
    UnfinishedVolume unfinished;
    ASSERT_TRUE(vacant(unfinished));
    EXPECT_TRUE(root_->exists("volume").value());
  }
  EXPECT_FALSE(root_->exists("volume").value());
  {
    UnfinishedVolume unfinished;
    ASSERT_TRUE(vacant(unfinished));
    unfinished.keep();
  }
  EXPECT_TRUE(root_->exists("volume").value());
}

TEST_F(VacantFolderTest, LosesWhatItsMakerPutThereAndNothingElse) {
  {
    UnfinishedVolume unfinished;
    const auto folder = vacant(unfinished).value();
    unfinished.made(folder, {"lock"});
    ASSERT_TRUE(folder->open("lock", Backing::Mode::kCreate));
    ASSERT_TRUE(folder->open("of somebody else", Backing::Mode::kCreate));
  }
  EXPECT_EQ(disk_->open_root("/volume").value()->list().value(), std::vector<std::string>{"of somebody else"});
}

TEST_F(VacantFolderTest, OfAnInterruptedMakingIsSaidToBeSuch) {
  ASSERT_TRUE(root_->make_folder("volume"));
  const auto folder = disk_->open_root("/volume").value();
  for (const std::string name : {"settings", "unmounted"}) ASSERT_TRUE(folder->open(name, Backing::Mode::kCreate));
  UnfinishedVolume unfinished;
  const auto refused = vacant(unfinished);
  EXPECT_EQ(refused.error().code(), ErrorCode::kNotEmpty);
  EXPECT_NE(refused.error().message().find("making was interrupted"), std::string::npos) << refused.error().message();
}

}  // namespace
}  // namespace dedupfs
