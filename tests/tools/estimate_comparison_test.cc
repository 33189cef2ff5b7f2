#include "estimate_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "delta/settings.h"

namespace dedupfs::tools {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(EstimateComparison, TriesWhatWasAskedForFirstAndNothingTwice) {
  const auto plain = candidates_of({.delta = std::string(kDefaultDeltaSettings)});
  const auto asked = candidates_of({.chunker = "fastcdc:avg=4k",
                                    .settled = "zstd:15",
                                    .landing = {},
                                    .delta = std::string(kDefaultDeltaSettings),
                                    .region = {}});

  EXPECT_THAT(plain.front().options, IsEmpty());
  EXPECT_EQ(asked.front().options, "--chunker fastcdc:avg=4k --settled zstd:15");
  EXPECT_EQ(asked.size() + 1, plain.size());
  for (const Candidate& candidate : asked) {
    EXPECT_THAT(candidate.options, HasSubstr("--settled zstd:15"));
    EXPECT_TRUE(parse_volume_settings(candidate.settings)) << candidate.options;
  }
  EXPECT_EQ(asked.back().settings.delta, "none");
}

TEST(EstimateComparison, AdvisesTheLeastDiskSpaceWithAReason) {
  const std::vector<Candidate> candidates{{"", {}}, {"--small", {}}, {"--large", {}}};

  const Advice advice = advise(candidates, {{10 << 20, 100, 1}, {6 << 20, 400, 1}, {9 << 20, 50, 1}});

  EXPECT_EQ(advice.candidate, 1u);
  EXPECT_EQ(advice.reason, "it takes 4.00 MiB less disk space");
}

TEST(EstimateComparison, FewerChunksDecideBetweenThoseThatTakeTheSame) {
  const std::vector<Candidate> candidates{{"", {}}, {"--small", {}}, {"--large", {}}};

  const Advice large = advise(candidates, {{1000, 100, 1}, {990, 400, 1}, {1001, 50, 1}});
  const Advice first = advise(candidates, {{1000, 50, 1}, {990, 400, 1}, {1200, 20, 1}});

  EXPECT_EQ(large.candidate, 2u);
  EXPECT_THAT(large.reason,
              HasSubstr("nearly the same disk space with fewer chunks, so a smaller index; --small takes even less"));
  EXPECT_EQ(first.candidate, 0u);
  EXPECT_THAT(advise(candidates, {{990, 400, 1}, {1000, 100, 1}, {1200, 400, 1}}).reason,
              HasSubstr("; (defaults) takes even less"));
  EXPECT_THAT(first.reason, HasSubstr("nothing that was tried takes clearly less"));
}

}  // namespace
}  // namespace dedupfs::tools
