#include "fs/estimate/sampling.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "fs/estimate/scratch_settings.h"
#include "support/files.h"

namespace dedupfs {
namespace {

constexpr auto kSampleOn = [](const EstimateProgress&) { return true; };

// A sample, although so little could be copied as it is.
constexpr SampleSettings kPart{.share = 0.05, .min_bytes = 0, .min_columns = 10};

// Two versions of text and noise, and the noise once more where nobody would look for it.
class SamplingTest : public testing::Test {
 protected:
  SamplingTest() {
    std::string text = words(8 << 20, 1);
    for (const char* const version : {"dump-1", "dump-2"}) {
      overwrite(dir_.path() / version, text);
      for (unsigned i = 0; i < 30; ++i) text.replace(i * 250000, 10, words(20, i));
    }
    std::filesystem::create_directories(dir_.path() / "deep" / "inside");
    overwrite(dir_.path() / "noise", random_text(6 << 20, 2));
    std::filesystem::copy_file(dir_.path() / "noise", dir_.path() / "deep" / "inside" / "x");
    for (unsigned i = 0; i < 200; ++i) overwrite(dir_.path() / "deep" / std::to_string(i), words(3000, i));
  }
  EstimateSettings settings(std::uint64_t memory_bytes = 128 << 20) const {
    return {.roots = {dir_.path()}, .scratch = scratch_settings(memory_bytes)};
  }

  const TempDir dir_;
};

TEST_F(SamplingTest, TheTruthLiesWithinTheMargin) {
  const double truth = static_cast<double>(value_of(estimate(settings(), kSampleOn)).settled->disk_bytes);

  const SampledEstimate found = value_of(estimate_by_sample(settings(), kPart, kSampleOn));

  EXPECT_FALSE(found.is_sample_all);
  EXPECT_NEAR(found.disk_bytes.value, truth, found.disk_bytes.margin);
  EXPECT_LT(found.disk_bytes.margin, 0.6 * truth);
}

// Nothing is left out, so there is nothing to be uncertain about.
TEST_F(SamplingTest, ASampleThatIsAllHasNoMargin) {
  const double truth = static_cast<double>(value_of(estimate(settings(), kSampleOn)).settled->disk_bytes);
  constexpr std::chrono::minutes kHoweverSlow{30};
  for (const SampleSettings& sample :
       {SampleSettings{.limit = kHoweverSlow}, SampleSettings{.min_bytes = 0, .limit = kHoweverSlow},
        SampleSettings{.share = 1, .min_bytes = 0, .min_columns = 0, .limit = kHoweverSlow}}) {
    const SampledEstimate found = value_of(estimate_by_sample(settings(), sample, kSampleOn));

    EXPECT_TRUE(found.is_sample_all);
    EXPECT_EQ(found.disk_bytes.margin, 0);
    EXPECT_EQ(found.distinct_bytes.margin, 0);
    // On a slow machine there are more commits, so the log of the index is longer: half a megabyte was seen.
    EXPECT_NEAR(found.disk_bytes.value, truth, 0.1 * truth);
    EXPECT_EQ(found.sampled_bytes, found.totals.data_bytes);
  }
}

// However small the sample is, the chunks of all files are counted.
TEST_F(SamplingTest, CountsEachChunkOnceWhereverItLies) {
  const Statistics truth = value_of(estimate(settings(), kSampleOn)).copied;

  const SampledEstimate found = value_of(estimate_by_sample(settings(), kPart, kSampleOn));

  EXPECT_TRUE(found.whole_scan);
  EXPECT_TRUE(found.complete);
  EXPECT_LT(found.distinct_bytes.margin, 0.02 * found.distinct_bytes.value);
  EXPECT_NEAR(found.distinct_bytes.value, static_cast<double>(truth.unique_bytes), 0.03 * found.distinct_bytes.value);
  EXPECT_EQ(found.totals.files, truth.files);
  EXPECT_EQ(found.totals.logical_bytes, truth.logical_bytes);
}

// With no time for anything but the list, all is uncertain.
TEST_F(SamplingTest, WithoutTimeTheMarginIsWide) {
  const SampledEstimate found =
      value_of(estimate_by_sample(settings(), {.limit = std::chrono::milliseconds(0)}, kSampleOn));

  EXPECT_FALSE(found.complete);
  EXPECT_GE(found.disk_bytes.margin, 0);
}

TEST_F(SamplingTest, TheSampleEndsWithTheMemory) {
  const SampledEstimate found = value_of(estimate_by_sample(settings(8 << 20), {.share = 1}, kSampleOn));

  EXPECT_LT(found.sampled_bytes, found.scanned_bytes);
  EXPECT_TRUE(found.whole_scan);
  EXPECT_GT(found.disk_bytes.margin, 0);
}

TEST_F(SamplingTest, EndsWhenItIsTold) {
  for (const EstimateStage stage : {EstimateStage::kList, EstimateStage::kCopy, EstimateStage::kScan})
    for (const SampleSettings& sample : {kPart, SampleSettings()}) {
      if (stage == EstimateStage::kScan && sample.min_bytes != 0) continue;  // nothing is left to be counted
      const auto until = [&](const EstimateProgress& now) { return now.stage != stage; };
      EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, estimate_by_sample(settings(), sample, until)));
    }
}

TEST_F(SamplingTest, TellsHowMuchIsLeft) {
  EstimateProgress copy;
  EstimateProgress scan;
  const SampledEstimate found = value_of(estimate_by_sample(settings(), kPart, [&](const EstimateProgress& now) {
    if (now.stage == EstimateStage::kCopy) copy = now;
    if (now.stage == EstimateStage::kScan) scan = now;
    return true;
  }));

  EXPECT_FALSE(found.is_sample_all);
  EXPECT_GT(copy.total_bytes, 0u);
  EXPECT_GT(scan.total_bytes, copy.total_bytes);
  EXPECT_LE(copy.seconds_left.value(), 30.0);
  EXPECT_LE(scan.seconds_left.value(), 50.0);
}

TEST_F(SamplingTest, NoFilesTakeWhatAnEmptyVolumeTakes) {
  const TempDir empty;
  EstimateSettings nothing = settings();
  nothing.roots = {empty.path()};

  const SampledEstimate found = value_of(estimate_by_sample(nothing, {}, kSampleOn));

  EXPECT_EQ(found.totals.directories, 1u);
  EXPECT_EQ(found.distinct_bytes.value, 0);
  EXPECT_GT(found.disk_bytes.value, 0);
}

}  // namespace
}  // namespace dedupfs
