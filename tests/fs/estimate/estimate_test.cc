#include "fs/estimate/estimate.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "fs/estimate/scratch_settings.h"
#include "support/files.h"

namespace dedupfs {
namespace {

constexpr auto kGoOn = [](const EstimateProgress&) { return true; };

// Three generations of text and of noise, with edits of all lengths.
class EstimateTest : public testing::Test {
 protected:
  EstimateTest() {
    std::string text = words(6 << 20, 1);
    std::string noise = random_text(4 << 20, 2);
    std::mt19937 random(3);
    unsigned seed = 4;
    for (const char* const generation : {"g1", "g2", "g3"}) {
      const Path folder = dir_.path() / generation;
      std::filesystem::create_directories(folder / "inner");
      overwrite(folder / "text", text);
      overwrite(folder / "inner" / "noise", noise);
      for (int i = 0; i < 40; ++i) {
        text.replace(random() % text.size(), 10, words(10 + random() % 40, seed++));
        noise.replace(random() % noise.size(), 100, random_text(1 + random() % 3000, seed++));
      }
    }
  }
  EstimateSettings settings(std::uint64_t memory_bytes = 128 << 20) const {
    EstimateSettings settings{.roots = {dir_.path() / "g1", dir_.path() / "g2", dir_.path() / "g3"},
                              .scratch = scratch_settings(memory_bytes)};
    settings.scratch.volume_options.slow_bytes = 0;  // however slow the machine is
    return settings;
  }

  const TempDir dir_;
};

// The same files in a volume on a disk.
Statistics in_a_volume(const EstimateSettings& settings, const TempDir& dir) {
  const Path path = dir.path() / "volume";
  value_of(Volume::create(path, settings.scratch.volume));
  const auto filesystem = value_of(
      Filesystem::open(value_of(Volume::open(path, settings.scratch.volume_options)), settings.scratch.filesystem));
  for (const Path& root : settings.roots) {
    const InodeNumber folder =
        value_of(filesystem->make_directory(kRootInode, root.filename().string(), 0755, {})).inode;
    const InodeNumber inner = value_of(filesystem->make_directory(folder, "inner", 0755, {})).inode;
    for (const auto& [parent, file] : {std::pair(folder, root / "text"), {inner, root / "inner" / "noise"}}) {
      const InodeNumber inode = value_of(filesystem->create(parent, file.filename().string(), 0644, {})).inode;
      const std::string content = content_of(file);
      EXPECT_TRUE(ok(filesystem->open_file(inode, false, {})));
      for (std::size_t at = 0; at < content.size(); at += 128 << 10)
        EXPECT_TRUE(ok(filesystem->write(inode, at, bytes_of(content.substr(at, 128 << 10)), {}, nullptr)));
      filesystem->release_file(inode, true);
    }
  }
  EXPECT_TRUE(ok(filesystem->sync()));
  return value_of(compute_statistics(filesystem->volume()));
}

TEST_F(EstimateTest, IsWhatAVolumeTakes) {
  const TempDir place;
  const Statistics real = in_a_volume(settings(), place);

  const Estimate found = value_of(estimate(settings(), kGoOn));

  EXPECT_TRUE(found.complete);
  EXPECT_EQ(found.copied.logical_bytes, real.logical_bytes);
  EXPECT_EQ(found.copied.files, real.files);
  EXPECT_EQ(found.read_bytes, real.logical_bytes);
  const auto near = [](std::uint64_t a, std::uint64_t b) {
    EXPECT_NEAR(static_cast<double>(a), static_cast<double>(b), 0.05 * static_cast<double>(b));
  };
  near(found.copied.disk_bytes, real.disk_bytes);
  near(found.copied.stored_bytes, real.stored_bytes);
  near(found.copied.unique_bytes, real.unique_bytes);
  EXPECT_GT(real.dedup_ratio(), 1.5) << "or the test says little";
  EXPECT_GT(real.delta_compression_ratio(), 1.05);
  EXPECT_GT(real.local_compression_ratio(), 1.2);
}

TEST_F(EstimateTest, TellsAlsoWhatItTakesOnceSettled) {
  const Estimate found = value_of(estimate(settings(), kGoOn));

  ASSERT_GT(found.copied.landed_bytes, 0u);
  ASSERT_TRUE(found.settled);
  EXPECT_EQ(found.settled->landed_bytes, 0u);
  EXPECT_LT(found.settled->disk_bytes, found.copied.disk_bytes);
  EXPECT_GE(found.peak_scratch_bytes, found.copied.stored_bytes);
}

TEST_F(EstimateTest, CountsTheSettledVolumeAfterEachVersion) {
  EstimateSettings versions = settings();
  versions.by_version = true;
  const Estimate found = value_of(estimate(versions, kGoOn));
  const Estimate at_once = value_of(estimate(settings(), kGoOn));

  ASSERT_EQ(found.versions.size(), 3u);
  EXPECT_EQ(found.versions[0].files, 2u);
  EXPECT_EQ(found.versions[2].logical_bytes, at_once.copied.logical_bytes);
  for (const Statistics& version : found.versions) EXPECT_EQ(version.landed_bytes, 0u);
  const auto first = static_cast<double>(found.versions[0].stored_bytes);
  const auto last = static_cast<double>(found.versions[2].stored_bytes);
  EXPECT_GT(last, first);
  EXPECT_LT(last, 1.5 * first) << "later versions share most of their data with the first";
  EXPECT_NEAR(last, static_cast<double>(at_once.settled->stored_bytes), 0.05 * last);
}

TEST_F(EstimateTest, OnlyVersionsThatTheMemoryHoldsAreCounted) {
  EstimateSettings versions = settings(9 << 20);
  versions.by_version = true;
  const Estimate found = value_of(estimate(versions, kGoOn));

  EXPECT_FALSE(found.complete && !found.unsettled);
  EXPECT_LT(found.versions.size(), 3u);
}

TEST_F(EstimateTest, WithOneLevelThereIsNothingToSettle) {
  EstimateSettings one_level = settings();
  one_level.scratch.volume.compression.landing = one_level.scratch.volume.compression.settled;

  const Estimate found = value_of(estimate(one_level, kGoOn));

  ASSERT_TRUE(found.settled);
  EXPECT_EQ(found.settled->disk_bytes, found.copied.disk_bytes);
}

TEST_F(EstimateTest, CountsWhatWasCopiedWhenTheMemoryEnds) {
  const Estimate found = value_of(estimate(settings(5 << 20), kGoOn));

  EXPECT_FALSE(found.complete);
  EXPECT_LT(found.read_bytes, 30u << 20);
  EXPECT_GT(found.copied.logical_bytes, 0u);
}

TEST_F(EstimateTest, EndsWhenItIsTold) {
  std::uint64_t seen = 0;
  const auto found = estimate(settings(), [&](const EstimateProgress& now) {
    seen = now.read_bytes;
    return seen < 3 << 20;
  });

  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, found));
  EXPECT_LT(seen, 5u << 20);
}

TEST_F(EstimateTest, KnowsHowMuchThereIsIfItListsTheFilesFirst) {
  EstimateSettings listing = settings();
  std::filesystem::create_hard_link(dir_.path() / "g1" / "text", dir_.path() / "g2" / "again");
  for (const bool lists_first : {false, true}) {
    listing.lists_first = lists_first;
    EstimateProgress last;
    bool was_listed = false;
    const Estimate found = value_of(estimate(listing, [&](const EstimateProgress& now) {
      was_listed |= now.stage == EstimateStage::kList;
      if (now.stage == EstimateStage::kCopy) last = now;
      return true;
    }));

    EXPECT_EQ(was_listed, lists_first);
    EXPECT_EQ(last.total_bytes, lists_first ? found.read_bytes : 0);
    EXPECT_EQ(last.read_bytes, found.read_bytes);
  }
}

TEST_F(EstimateTest, ARootMustBeThere) {
  EstimateSettings wrong = settings();
  wrong.roots.push_back(dir_.path() / "none");

  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, estimate(wrong, kGoOn)));
}

}  // namespace
}  // namespace dedupfs
