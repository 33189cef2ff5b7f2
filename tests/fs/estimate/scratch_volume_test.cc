#include "fs/estimate/scratch_volume.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "fs/estimate/scratch_settings.h"
#include "support/files.h"

namespace dedupfs {
namespace {

class ScratchVolumeTest : public testing::Test {
 protected:
  SourceFile source(const std::string& name, const std::string& content) const {
    overwrite(dir_.path() / name, content);
    return value_of(SourceFile::open(dir_.path() / name, false));
  }

  const TempDir dir_;
};

TEST_F(ScratchVolumeTest, CountsTheSameContentOnce) {
  const auto volume = value_of(ScratchVolume::make(scratch_settings()));
  const std::string text = random_text(3 << 20, 1);
  ASSERT_TRUE(ok(volume->copy_file(source("a", text), kRootInode, "a", always())));
  ASSERT_TRUE(ok(volume->copy_file(source("b", text), kRootInode, "b", always())));

  const Statistics found = value_of(volume->statistics());

  EXPECT_EQ(found.files, 2u);
  EXPECT_EQ(found.logical_bytes, 6u << 20);
  EXPECT_NEAR(found.dedup_ratio(), 2, 0.05);
  EXPECT_GT(found.disk_bytes, 3u << 20);
  EXPECT_LT(found.disk_bytes, 4u << 20);
}

TEST_F(ScratchVolumeTest, AHugeHoleTakesNothing) {
  const auto volume = value_of(ScratchVolume::make(scratch_settings()));
  overwrite(dir_.path() / "sparse", "x");
  std::filesystem::resize_file(dir_.path() / "sparse", std::uint64_t{1} << 40);
  const auto file = value_of(SourceFile::open(dir_.path() / "sparse", false));

  const auto copied = value_of(volume->copy_file(file, kRootInode, "sparse", always()));
  const Statistics found = value_of(volume->statistics());

  EXPECT_LE(copied.bytes, 1u << 20);
  EXPECT_EQ(found.logical_bytes, std::uint64_t{1} << 40);
  EXPECT_LT(found.disk_bytes, 4u << 20);
}

TEST_F(ScratchVolumeTest, SaysThatTheMemoryEndsAndCanStillBeCounted) {
  const auto volume = value_of(ScratchVolume::make(scratch_settings(8 << 20)));
  const auto copied = volume->copy_file(source("a", random_text(32 << 20, 1)), kRootInode, "a", always());

  EXPECT_TRUE(fails_with(ErrorCode::kNoMemory, copied));
  const Statistics found = value_of(volume->statistics());
  EXPECT_GT(found.logical_bytes, 1u << 20);
  EXPECT_LT(found.logical_bytes, 32u << 20);
}

TEST_F(ScratchVolumeTest, SettlingCompressesForGoodWhatHasLanded) {
  ScratchVolumeSettings settings = scratch_settings();
  settings.volume_options.slow_bytes = 0;
  const auto volume = value_of(ScratchVolume::make(settings));
  const std::string text = words(4 << 20, 1);
  ASSERT_TRUE(ok(volume->copy_file(source("a", text), kRootInode, "a", always())));
  const Statistics landed = value_of(volume->statistics());
  ASSERT_GT(landed.landed_bytes, 0u);

  ASSERT_TRUE(ok(volume->settle(always())));

  const Statistics settled = value_of(volume->statistics());
  EXPECT_EQ(settled.landed_bytes, 0u);
  EXPECT_LT(settled.stored_bytes, landed.stored_bytes);
  EXPECT_EQ(settled.logical_bytes, landed.logical_bytes);
}

TEST_F(ScratchVolumeTest, WithoutItsLogTheIndexIsInTables) {
  const auto volume = value_of(ScratchVolume::make(scratch_settings()));
  for (unsigned i = 0; i < 300; ++i)
    ASSERT_TRUE(ok(volume->copy_file(source("a", words(400, i)), kRootInode, std::to_string(i), always())));

  const Statistics with = value_of(volume->statistics());
  const Statistics without = value_of(volume->statistics_without_log());

  const auto tables = [](const Statistics& statistics) {
    return statistics.index_table_bytes[static_cast<std::size_t>(Family::kInodes)];
  };
  EXPECT_EQ(tables(with), 0u);
  EXPECT_GT(tables(without), 0u);
  EXPECT_LT(without.index_bytes, with.index_bytes);
}

TEST_F(ScratchVolumeTest, MakesAFileOfPieces) {
  const auto volume = value_of(ScratchVolume::make(scratch_settings()));
  const auto made = volume->make_file("a", [](const ScratchVolume::Append& append) -> Result<void> {
    DEDUPFS_TRY(append(0, bytes_of(random_text(100 << 10, 1))));
    return append(1 << 20, bytes_of(random_text(100 << 10, 2)));
  });
  ASSERT_TRUE(ok(made));
  const auto failed = volume->make_file("b", [](const auto&) -> Result<void> { return Error{ErrorCode::kBusy, "no"}; });

  EXPECT_TRUE(fails_with(ErrorCode::kBusy, failed));
  const Statistics found = value_of(volume->statistics());
  EXPECT_EQ(found.logical_bytes, (1u << 20) + (100u << 10));
  EXPECT_EQ(found.unique_bytes, 200u << 10);
}

TEST_F(ScratchVolumeTest, NotesAFileThatBecameShorter) {
  const auto volume = value_of(ScratchVolume::make(scratch_settings()));
  const auto file = source("a", random_text(1 << 20, 1));
  std::filesystem::resize_file(dir_.path() / "a", 1000);

  const auto copied = value_of(volume->copy_file(file, kRootInode, "a", always()));

  EXPECT_TRUE(copied.changed);
  EXPECT_EQ(copied.bytes, 1000u);
}

}  // namespace
}  // namespace dedupfs
