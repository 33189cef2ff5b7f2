#include "replica/volume_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class VolumeFoldersTest : public testing::Test {
 protected:
  TempDir scratch_;
  std::shared_ptr<BackingFolder> volume_ = Backing::posix()->open_root(scratch_.path()).value();
};

TEST_F(VolumeFoldersTest, MakesAFolderWhenItsFirstFileComes) {
  VolumeFolders folders(*volume_, VolumeFolders::Mode::kOpenOrMake);
  EXPECT_THAT(volume_->list().value(), IsEmpty());
  EXPECT_TRUE(folders.open("superblock", Backing::Mode::kCreate));
  EXPECT_THAT(volume_->list().value(), ElementsAre("superblock"));
  EXPECT_TRUE(folders.open("containers/7", Backing::Mode::kCreate));
  EXPECT_TRUE(folders.open("containers/8", Backing::Mode::kCreate));
  EXPECT_TRUE(folders.sync());
  EXPECT_THAT(volume_->list().value(), ElementsAre("containers", "superblock"));
  EXPECT_THAT(volume_->open_folder("containers").value()->list().value(), ElementsAre("7", "8"));
}

TEST_F(VolumeFoldersTest, MakesNothingWhenItOnlyOpens) {
  VolumeFolders folders(*volume_, VolumeFolders::Mode::kOpen);
  EXPECT_EQ(folders.open("containers/7", Backing::Mode::kRead).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(folders.open("superblock", Backing::Mode::kRead).error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(volume_->list().value(), IsEmpty());
}

TEST_F(VolumeFoldersTest, OpensEachFolderOnce) {
  ASSERT_TRUE(volume_->make_folder("containers"));
  VolumeFolders folders(*volume_, VolumeFolders::Mode::kOpen);
  EXPECT_EQ(folders.holder_of("containers/7").value(), folders.get("containers").value());
  EXPECT_EQ(folders.holder_of("superblock").value(), volume_.get());
}

TEST_F(VolumeFoldersTest, NoPathLeadsOutOfTheVolume) {
  VolumeFolders folders(*volume_, VolumeFolders::Mode::kOpenOrMake);
  for (const char* const path : {"../stolen", "/etc/passwd", "containers/../../stolen", "..", "containers/a/b"})
    EXPECT_EQ(folders.open(path, Backing::Mode::kOpenOrCreate).error().code(), ErrorCode::kInvalidArgument) << path;
}

TEST(NameInFolder, IsWhatFollowsTheFirstSlash) {
  EXPECT_EQ(name_in_folder("containers/7"), "7");
  EXPECT_EQ(name_in_folder("superblock"), "superblock");
}

}  // namespace
}  // namespace dedupfs
