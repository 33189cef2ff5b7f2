#include "store/format/superblock_features.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/volume/volume.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

TEST(SuperblockFeatures, AreAddedOnceToBothCopiesAndThisBuildWritesOn) {
  const TempDir directory;
  const Path path = directory.path() / "volume";
  ASSERT_TRUE(Volume::create(path, {}));
  const auto folder = *Backing::posix()->open_root(path);
  const Superblock before = *read_superblock(*folder);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(add_read_only_feature(*folder, kHoldsFeature));

  Superblock after = *read_superblock(*folder);
  EXPECT_EQ(after.read_only_features, std::vector<std::string>{"holds"});
  EXPECT_TRUE(damage_of_superblocks(*folder).empty());
  EXPECT_TRUE(require_writable(after));
  after.read_only_features.clear();
  EXPECT_EQ(encode_superblock(after), encode_superblock(before));
}

TEST(SuperblockFeatures, AnIncompatibleOneStandsBesideThoseOfMkfs) {
  const TempDir directory;
  const Path path = directory.path() / "volume";
  ASSERT_TRUE(Volume::create(path, {}));
  const auto folder = *Backing::posix()->open_root(path);
  std::vector<std::string> expected = read_superblock(*folder)->incompatible_features;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(add_incompatible_feature(*folder, kQuotasFeature));

  expected.emplace_back("quotas");
  EXPECT_EQ(read_superblock(*folder)->incompatible_features, expected);
}

}  // namespace
}  // namespace dedupfs
