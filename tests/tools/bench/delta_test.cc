#include "bench/delta.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench_outcome.h"

namespace dedupfs::bench {
namespace {

using ::testing::HasSubstr;

Input random_input(std::string_view name) {
  return *load_input(*plan_input(name));
}

TEST(DedupfsBenchDelta, EachShapeHasARecordOfEachCoder) {
  const Outcome outcome = bench({"delta", "--sizes", "4k,8k", "--sources", "1,3", "--pairs", "3", "--repeat", "1",
                                 "--edits-per-kib", "0.5", "--json", "random:200k"});

  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const auto records = nlohmann::json::parse(outcome.out).at("records");
  ASSERT_EQ(records.size(), 8U);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto& record = records[i];
    EXPECT_EQ(record["coder"], i % 2 == 0 ? "dedupfs" : "xdelta3");
    EXPECT_EQ(record["source_chunks"], i % 4 < 2 ? 1 : 3);
    EXPECT_EQ(record["chunk"], i < 4 ? 4096 : 8192);
    EXPECT_EQ(record["pairs"], 3);
    EXPECT_EQ(record["edits_per_kib"], 0.5);
    EXPECT_GT(record["encode_mb_per_s"], 0);
    EXPECT_GT(record["decode_mb_per_s"], 0);
    EXPECT_GT(record["delta_percent"], 0.1);
    EXPECT_LT(record["delta_percent"], 5);
  }
}

TEST(DedupfsBenchDelta, PrintsATable) {
  const Outcome outcome = bench({"delta", "--sizes", "4k", "--pairs", "1", "--repeat", "1", "random:100k"});

  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("random:100k: 1 edits in each KiB"));
  EXPECT_THAT(outcome.out, HasSubstr("\ndedupfs"));
  EXPECT_THAT(outcome.out, HasSubstr("\nxdelta3"));
}

TEST(DedupfsBenchDelta, PairsHaveAboutAsManyEditsAsAskedFor) {
  const Input input = random_input("random:4m");
  const auto unedited = delta_pairs(input, 8192, 1, {.edits_per_kib = 0, .pairs = 100});
  const auto edited = delta_pairs(input, 8192, 5, {.edits_per_kib = 1, .pairs = 100});

  ASSERT_TRUE(unedited && edited);
  EXPECT_EQ(unedited->size(), 100U);
  for (const DeltaPair& pair : *unedited) EXPECT_TRUE(std::ranges::equal(pair.source, pair.target));
  EXPECT_EQ(edited->size(), 100U);
  for (const DeltaPair& pair : *edited) {
    EXPECT_EQ(pair.source.size(), 5U * 8192);
    EXPECT_EQ(pair.likely_offset, 2U * 8192);
    EXPECT_NEAR(static_cast<double>(pair.target.size()), 8192, 28 * 24);
  }
  const auto measured = measure_delta(input, 8192, 1, {.edits_per_kib = 1, .pairs = 100, .repeat = 1});
  ASSERT_TRUE(measured);
  EXPECT_NEAR((*measured)[0].delta_percent(), 2.1, 0.3);
}

TEST(DedupfsBenchDelta, SourcesDoNotOverlapWhereTheInputIsSmall) {
  const auto pairs = delta_pairs(random_input("random:100k"), 8192, 5, {});

  ASSERT_TRUE(pairs);
  ASSERT_EQ(pairs->size(), 2U);
  EXPECT_GE((*pairs)[1].source.data(), (*pairs)[0].source.data() + 5 * 8192);
}

TEST(DedupfsBenchDelta, WrongArgumentsAreUsageErrors) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"delta"},
                                                    {"delta", "--sizes", "0", "random:100k"},
                                                    {"delta", "--sizes", "1m", "random:2m"},
                                                    {"delta", "--sizes", "x", "random:100k"},
                                                    {"delta", "--sizes", "64k", "--sources", "1,0", "random:100k"},
                                                    {"delta", "--sizes", "64k", "--sources", "129", "random:16m"},
                                                    {"delta", "--edits-per-kib", "-1", "random:100k"},
                                                    {"delta", "--pairs", "0", "random:100k"},
                                                    {"delta", "--repeat", "0", "random:100k"},
                                                    {"delta", "random:4k"}}) {
    const Outcome outcome = bench(arguments);

    EXPECT_EQ(outcome.exit_code, kUsageError) << testing::PrintToString(arguments);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err, "");
  }
}

}  // namespace
}  // namespace dedupfs::bench
