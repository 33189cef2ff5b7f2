#include "estimate_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fs/test_filesystem.h"

namespace dedupfs::tools {
namespace {

using testing::HasSubstr;

SampledEstimate a_sample() {
  SampledEstimate found;
  found.totals.files = 2;
  found.totals.logical_bytes = 400 << 20;
  found.totals.data_bytes = 400 << 20;
  found.distinct_bytes = {.value = 200 << 20, .margin = 0};
  found.disk_bytes = {.value = 100 << 20, .margin = 5 << 20};
  found.sampled_bytes = 20 << 20;
  found.scanned_bytes = 400 << 20;
  return found;
}

TEST(EstimateSample, ReadsAShare) {
  EXPECT_DOUBLE_EQ(value_of(parse_share("5%")), 0.05);
  EXPECT_DOUBLE_EQ(value_of(parse_share("0.5%")), 0.005);
  EXPECT_DOUBLE_EQ(value_of(parse_share("100%")), 1);
  for (const char* const wrong : {"", "%", "5", "0%", "-1%", "101%", "nan%", "5%%", "x%"})
    EXPECT_FALSE(parse_share(wrong)) << wrong;
}

TEST(EstimateSample, SaysAboutHowMuchWithItsMargin) {
  const std::string screen = sample_screen(a_sample());

  EXPECT_THAT(screen,
              HasSubstr("400.00 MiB in 2 files would take about 100.00 MiB ± 5.00 MiB (95 %) once settled, 4.00 : 1"));
  EXPECT_THAT(screen, HasSubstr("deduplication 2.00"));
  EXPECT_THAT(screen, HasSubstr("the chunks of all files were counted"));
}

TEST(EstimateSample, SaysWhatWasCountedIfThatIsNotAll) {
  SampledEstimate found = a_sample();
  found.complete = found.whole_scan = false;
  found.scanned_bytes = 100 << 20;

  EXPECT_THAT(sample_screen(found), testing::StartsWith("The first 400.00 MiB"));
  EXPECT_THAT(sample_screen(found), HasSubstr("the chunks of 100.00 MiB were counted"));
}

TEST(EstimateSample, WithAllInTheSampleThereIsNoMargin) {
  SampledEstimate found = a_sample();
  found.disk_bytes.margin = 0;
  found.is_sample_all = true;

  EXPECT_THAT(sample_screen(found), HasSubstr("would take 100.00 MiB once settled, 4.00 : 1"));
  EXPECT_THAT(sample_screen(found), testing::EndsWith("\nSample: all was stored, in 0 s.\n"));
  EXPECT_EQ(sample_json(found).at("margins").at("disk_bytes").at("low"), 100 << 20);
  EXPECT_EQ(sample_json(found).at("margins").at("disk_bytes").at("high"), 100 << 20);
}

TEST(EstimateSample, JsonHasTheBounds) {
  const nlohmann::json json = sample_json(a_sample());

  EXPECT_EQ(json.at("disk_bytes"), 100 << 20);
  EXPECT_EQ(json.at("margins").at("disk_bytes").at("low"), 95 << 20);
  EXPECT_EQ(json.at("margins").at("disk_bytes").at("high"), 105 << 20);
  EXPECT_EQ(json.at("margins").at("unique_bytes").at("low"), 200 << 20);
  EXPECT_EQ(json.at("total_ratio"), 4);
}

}  // namespace
}  // namespace dedupfs::tools
