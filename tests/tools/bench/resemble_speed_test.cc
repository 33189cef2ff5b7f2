#include "bench/resemble_speed.h"

#include <gtest/gtest.h>

#include <set>

#include "chunkers/test_data.h"
#include "delta/resemblance.h"

namespace dedupfs::bench {
namespace {

constexpr std::size_t kTimedChunkBytes = 8192;

std::vector<SpeedRecord> measured(const std::vector<std::string>& methods, const std::vector<Isa>& isas,
                                  const SpeedOptions& options) {
  static const std::vector<ByteBuffer> kChunks = [] {
    std::vector<ByteBuffer> chunks;
    for (std::uint64_t seed = 0; seed < 10; ++seed) chunks.push_back(random_bytes(kTimedChunkBytes, seed));
    return chunks;
  }();
  const std::vector<ByteSpan> spans(kChunks.begin(), kChunks.end());
  const auto records = measure_speed(spans, methods, isas, options);
  EXPECT_TRUE(records) << records.error().message();
  return *records;
}

TEST(ResembleSpeed, HasOneRecordForEachMethodAndInstructionSetThatServes) {
  const std::vector<std::string> methods = {"finesse", "odess+"};
  std::set<std::pair<std::string, std::string>> wanted, found;
  for (const std::string& method : methods)
    for (const Isa isa : available_isas())
      wanted.emplace(method, name_of((*make_resemblance_detector(method, isa))->isa()));

  for (const SpeedRecord& record : measured(methods, available_isas(), {.repeat = 1}))
    EXPECT_TRUE(found.emplace(record.method, record.isa).second) << record.method << ' ' << record.isa;

  EXPECT_EQ(found, wanted);
}

TEST(ResembleSpeed, TimesTheFirstChunksAndOfNTransformFewer) {
  const auto records =
      measured({"odess", "n-transform"}, {Isa::kScalar},
               {.repeat = 1, .bytes = 5 * kTimedChunkBytes, .n_transform_bytes = 2 * kTimedChunkBytes - 1});

  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].bytes, 5 * kTimedChunkBytes);
  EXPECT_EQ(records[1].bytes, 2 * kTimedChunkBytes);
}

TEST(ResembleSpeed, IsComparedWithNTransformInScalarCode) {
  const auto records = measured({"n-transform", "odess"}, {Isa::kScalar}, {.repeat = 3});

  ASSERT_EQ(records.size(), 2u);
  EXPECT_GT(records[0].speedup_over_n_transform(), 0.5);  // it is the same
  EXPECT_LT(records[0].speedup_over_n_transform(), 2);
  EXPECT_GT(records[1].speedup_over_n_transform(), 1);
  for (const SpeedRecord& record : records) {
    EXPECT_LE(record.feature_seconds, record.feature_seconds_median);
    EXPECT_GT(record.feature_seconds, 0);
    EXPECT_GT(record.sketch_seconds, 0);
  }
}

TEST(ResembleSpeed, OfAnUnknownMethodIsAnError) {
  const std::vector<std::string> methods = {"odes"};
  const std::vector<Isa> isas = {Isa::kScalar};

  EXPECT_FALSE(measure_speed({}, methods, isas, {}));
}

}  // namespace
}  // namespace dedupfs::bench
