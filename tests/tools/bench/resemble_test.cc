#include "bench/resemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/plot.h"
#include "bench_outcome.h"
#include "chunkers/test_data.h"
#include "temp_folder.h"

namespace dedupfs::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string text(const ByteBuffer& bytes) {
  return std::string(text_of(bytes));
}

TEST(DedupfsBenchResemble, OneRunHasAccuracyReductionAndSpeedOfEachMethod) {
  const Outcome outcome = bench({"resemble", "--avg", "4k,8k", "--pairs", "2", "--repeat", "1", "--isa", "scalar",
                                 "--modify-length", "16,1k", "--modify-rate", "5,12.5", "--json", "random:200k"});

  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  std::map<std::string, std::map<std::string, int>> counts;
  const auto all = nlohmann::json::parse(outcome.out);
  for (const auto& record : all.at("records")) {
    ++counts[record["kind"]][record["method"]];
    if (record["kind"] == "accuracy") {
      EXPECT_EQ(record["pairs"], 2);
      EXPECT_TRUE(record["length"] == 16 || record["length"] == 1024);
      EXPECT_TRUE(record["rate"] == 0.05 || record["rate"] == 0.125);
    }
  }
  for (const char* method : {"odess+", "odess", "finesse", "n-transform"}) {
    EXPECT_EQ(counts["accuracy"][method], 8) << method;  // two sizes, lengths and rates
    EXPECT_EQ(counts["reduction"][method], 2) << method;
    EXPECT_EQ(counts["speed"][method], 2) << method;
  }
}

TEST(DedupfsBenchResemble, MeasuresOnlyAccuracyWhenAsked) {
  const Outcome outcome = bench({"resemble", "--accuracy", "--methods", "odess", "--pairs", "1", "random:100k"});

  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("random:100k: 1 file"));
  EXPECT_THAT(outcome.out, HasSubstr("Estimating error"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("GB/s")));
  EXPECT_THAT(outcome.out, Not(HasSubstr("finesse")));
}

TEST(DedupfsBenchResemble, DeltasAreWhatVersionsOfAFileDifferIn) {
  const TempFolder folder;
  const ByteBuffer first = random_bytes(64 << 10, 1);
  ByteBuffer second = first;
  for (std::size_t chunk = 0; chunk < 8; ++chunk) second[chunk * 8192 + 1000] ^= 1;  // every second chunk of 4 KiB
  folder.write("1", text(first));
  folder.write("2", text(second));

  const Outcome outcome = bench({"resemble", "--chunker", "fixed", "--avg", "4k", "--methods", "odess+", "--isa",
                                 "best", "--pairs", "1", "--repeat", "1", "--json", folder.path().string()});

  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const auto all = nlohmann::json::parse(outcome.out);
  for (const auto& record : all.at("records")) {
    if (record["kind"] != "reduction") continue;
    EXPECT_EQ(record["chunker"], "fixed:size=4k");
    EXPECT_EQ(record["unique_chunks"], 24);
    EXPECT_EQ(record["similar_chunks"], 8);
    EXPECT_DOUBLE_EQ(record["scr"], 8.0 / 24);
    EXPECT_GT(record["dce"], 0.98);
    EXPECT_NEAR(record["dcr"].get<double>(), 24.0 / 16, 0.02);
  }
}

TEST(DedupfsBenchResemble, AChunkerMayHaveParameters) {
  const Outcome outcome = bench({"resemble", "--chunker", "gear:norm=1", "--avg", "4k", "--methods", "odess", "--pairs",
                                 "1", "--repeat", "1", "--isa", "scalar", "random:100k"});

  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("gear:min=1k,avg=4k,max=16k,norm=1"));
}

TEST(DedupfsBenchResemble, WrongArgumentsAreUsageErrors) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"resemble"},
                                                    {"resemble", "--methods", "odes", "random:100k"},
                                                    {"resemble", "--isa", "mmx", "random:100k"},
                                                    {"resemble", "--avg", "x", "random:100k"},
                                                    {"resemble", "--chunker", "geer", "random:100k"},
                                                    {"resemble", "--modify-length", "0", "random:100k"},
                                                    {"resemble", "--modify-length", "17k", "random:100k"},
                                                    {"resemble", "--modify-rate", "0", "random:100k"},
                                                    {"resemble", "--modify-rate", "101", "random:100k"},
                                                    {"resemble", "--modify-rate", "5%", "random:100k"},
                                                    {"resemble", "--modify-rate", "nan", "random:100k"},
                                                    {"resemble", "--pairs", "0", "random:100k"},
                                                    {"resemble", "--window", "0", "random:100k"},
                                                    {"resemble", "--repeat", "0", "random:100k"},
                                                    {"resemble", "--accuracy", "random:1k"}}) {
    const Outcome outcome = bench(arguments);

    EXPECT_EQ(outcome.exit_code, kUsageError) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err, "");
  }
}

TEST(DedupfsBenchResemble, HelpListsMethods) {
  const Outcome outcome = bench({"resemble", "--help"});

  EXPECT_EQ(outcome.exit_code, kDone);
  EXPECT_THAT(outcome.out, HasSubstr("\n  n-transform "));
}

TEST(DedupfsBenchResemble, DrawsFigures) {
  if (!find_gnuplot()) GTEST_SKIP() << "gnuplot is not installed";
  const TempFolder folder;

  const Outcome outcome =
      bench({"resemble", "--accuracy", "--avg", "4k", "--pairs", "1", "--plot", folder.path().string(), "random:100k"});

  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  std::ifstream file(folder.path() / "error-length-random-100k-4k.svg");
  const std::string svg{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(svg, HasSubstr("odess+"));
}

}  // namespace
}  // namespace dedupfs::bench
