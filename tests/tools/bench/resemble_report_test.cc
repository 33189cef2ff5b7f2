#include "bench/resemble_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dedupfs::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

AccuracyRecord accuracy(const std::string& method, std::size_t length, double rate, double estimate) {
  AccuracyRecord record{"/data/vm", "vm", method, 8192, {length, rate}, {}};
  record.error.add(0.5, estimate);
  return record;
}

ReductionRecord reduction(const std::string& method, std::uint64_t delta_bytes) {
  return {.input = "/data/vm",
          .input_short = "vm",
          .chunker = "fastcdc:avg=8k",
          .method = method,
          .avg_bytes = 8192,
          .reduction = {.chunks = 10,
                        .bytes = 2000,
                        .similar_chunks = 6,
                        .delta_chunks = 5,
                        .replaced_bytes = 1000,
                        .delta_bytes = delta_bytes}};
}

SpeedRecord speed(const std::string& method, const std::string& isa, double seconds) {
  return {.input = "/data/vm",
          .input_short = "vm",
          .method = method,
          .isa = isa,
          .avg_bytes = 8192,
          .bytes = 1000000000,
          .feature_seconds = seconds,
          .feature_seconds_median = seconds,
          .sketch_seconds = 2 * seconds,
          .n_transform_gb_per_s = 0.1};
}

ResembleRecords records() {
  return {.accuracy = {accuracy("odess+", 8, 0.01, 0.6), accuracy("finesse", 8, 0.01, 0.8),
                       accuracy("odess+", 8, 0.05, 0.8), accuracy("finesse", 8, 0.05, 1),
                       accuracy("odess+", 32, 0.01, 0.5), accuracy("finesse", 32, 0.01, 0.4)},
          .reduction = {reduction("odess+", 250), reduction("finesse", 500)},
          .speed = {speed("odess+", "avx2", 0.25), speed("finesse", "scalar", 4)}};
}

TEST(ResembleReport, PoolsErrorsByLengthAndByRate) {
  const std::string text = format_resemble(records());

  EXPECT_THAT(text, HasSubstr("chunk  length  resemblance         odess+        finesse\n"));
  EXPECT_THAT(text, HasSubstr("8k        8 B        0.500  0.200 (0.100)  0.400 (0.100)\n"));
  EXPECT_THAT(text, HasSubstr("8k       32 B        0.500  0.000 (0.000)  0.100 (0.000)\n"));
  EXPECT_THAT(text, HasSubstr("8k      1 %        0.500  0.050 (0.050)  0.200 (0.100)\n"));
  EXPECT_THAT(text, HasSubstr("8k      5 %        0.500  0.300 (0.000)  0.500 (0.000)\n"));
}

TEST(ResembleReport, ShowsRatiosBesideThoseOfFinesse) {
  const std::string text = format_resemble(records());

  EXPECT_THAT(text, HasSubstr("fastcdc:avg=8k  odess+       10  0.0       5  60.0 %  75.0 %  1.600       1.20\n"));
  EXPECT_THAT(text, HasSubstr("fastcdc:avg=8k  finesse      10  0.0       5  60.0 %  50.0 %  1.333       1.00\n"));
}

TEST(ResembleReport, ShowsSpeedBesideThatOfNTransform) {
  const std::string text = format_resemble(records());

  EXPECT_THAT(text, HasSubstr("odess+   avx2     8k          4.000                2.000           40.0\n"));
  EXPECT_THAT(text, HasSubstr("finesse  scalar   8k          0.250                0.125            2.5\n"));
}

TEST(ResembleReport, LeavesOutWhatWasNotMeasured) {
  ResembleRecords only_accuracy = records();
  only_accuracy.reduction.clear();
  only_accuracy.speed.clear();

  const std::string text = format_resemble(only_accuracy);

  EXPECT_THAT(text, HasSubstr("Estimating error"));
  EXPECT_THAT(text, Not(HasSubstr("Delta encoding")));
  EXPECT_THAT(text, Not(HasSubstr("Speed")));
}

TEST(ResembleReport, JsonHasARecordOfEachWithItsFigures) {
  const auto json = resemble_json(records()).at("records");

  ASSERT_EQ(json.size(), 10u);
  EXPECT_EQ(json[0]["kind"], "accuracy");
  EXPECT_EQ(json[0]["input"], "/data/vm");
  EXPECT_EQ(json[0]["chunk"], 8192);
  EXPECT_EQ(json[0]["pairs"], 1);
  EXPECT_DOUBLE_EQ(json[0]["rate"], 0.01);
  EXPECT_NEAR(json[5]["error_mean"], 0.1, 1e-12);
  EXPECT_NEAR(json[5]["bias"], -0.1, 1e-12);
  EXPECT_EQ(json[6]["kind"], "reduction");
  EXPECT_DOUBLE_EQ(json[6]["scr"], 0.6);
  EXPECT_DOUBLE_EQ(json[6]["dce"], 0.75);
  EXPECT_DOUBLE_EQ(json[6]["dcr"], 1.6);
  EXPECT_EQ(json[8]["kind"], "speed");
  EXPECT_DOUBLE_EQ(json[8]["gb_per_s"], 4);
  EXPECT_DOUBLE_EQ(json[8]["super_feature_gb_per_s"], 2);
  EXPECT_DOUBLE_EQ(json[8]["speedup_over_n_transform"], 40);
  EXPECT_EQ(resemble_json({}).at("records"), nlohmann::json::array());
}

TEST(ResembleReport, FiguresAreThoseOfThePaper) {
  std::vector<std::string> names;
  for (const Figure& figure : resemble_figures(records())) names.push_back(figure.name);

  EXPECT_THAT(names,
              ElementsAre("error-length-vm-8k", "deviation-length-vm-8k", "error-rate-vm-8k", "deviation-rate-vm-8k",
                          "scr-8k", "dce-8k", "dcr-8k", "features-8k", "super-features-8k", "n-transform-8k"));
}

TEST(ResembleReport, FiguresHaveABarForEachMethod) {
  const auto figures = resemble_figures(records());

  for (const Figure& figure : figures) {
    EXPECT_THAT(figure.script, HasSubstr("odess+")) << figure.name;
    EXPECT_THAT(figure.script, HasSubstr("finesse")) << figure.name;
  }
  EXPECT_THAT(figures[0].script, HasSubstr(" 0.4 "));  // finesse, 8 bytes
  EXPECT_THAT(figures[5].script, HasSubstr(" 75 "));
}

}  // namespace
}  // namespace dedupfs::bench
