#include "bench/resemble_accuracy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "chunkers/test_data.h"
#include "loaded_input.h"

namespace dedupfs::bench {
namespace {

constexpr std::size_t kWindow = 4;

ByteBuffer counting(std::size_t n, std::uint8_t first = 0) {
  ByteBuffer bytes(n);
  std::iota(bytes.begin(), bytes.end(), first);
  return bytes;
}

double resemblance_of(ByteSpan a, ByteSpan b) {
  return resemblance(windows_of(a, kWindow), windows_of(b, kWindow));
}

Detectors all_detectors() {
  Detectors detectors;
  for (const auto& info : resemblance_method_infos())
    detectors.push_back(*make_resemblance_detector(info.name, widest_isa()));
  return detectors;
}

// Finds everything alike.
class Blind : public ResemblanceDetector {
 public:
  std::string_view name() const override { return "blind"; }
  Isa isa() const override { return Isa::kScalar; }
  Features features(ByteSpan) const override { return {}; }
  Sketch sketch(const Features&) const override { return {}; }
};

TEST(Resemblance, IsThePartOfAllWindowsThatBothHave) {
  const ByteBuffer chunk = counting(100);
  ByteBuffer other = counting(50);
  const ByteBuffer rest = counting(50, 200);
  other.insert(other.end(), rest.begin(), rest.end());

  // 97 windows each; 47 lie in the 50 bytes that are the same.
  EXPECT_DOUBLE_EQ(resemblance_of(chunk, other), 47.0 / (97 + 97 - 47));
  EXPECT_DOUBLE_EQ(resemblance_of(chunk, chunk), 1);
  EXPECT_DOUBLE_EQ(resemblance_of(chunk, counting(100, 128)), 0);
}

TEST(Resemblance, DoesNotAskWhereAWindowIs) {
  ByteBuffer shifted = {77, 78, 79};
  const ByteBuffer chunk = counting(60);
  shifted.insert(shifted.end(), chunk.begin(), chunk.end());

  EXPECT_DOUBLE_EQ(resemblance_of(chunk, shifted), 57.0 / 60);
}

TEST(Resemblance, CountsWindowsThatRepeatOnce) {
  EXPECT_DOUBLE_EQ(resemblance_of(ByteBuffer(1000, 5), ByteBuffer(10, 5)), 1);
}

TEST(Resemblance, TakesAChunkThatIsShorterThanAWindowAsOne) {
  EXPECT_DOUBLE_EQ(resemblance_of(ByteBuffer{1, 2, 3}, ByteBuffer{1, 2, 3}), 1);
  EXPECT_DOUBLE_EQ(resemblance_of(ByteBuffer{1, 2, 3}, ByteBuffer{1, 2, 4}), 0);
}

TEST(EstimatedResemblance, IsThePartOfFeaturesThatAreEqual) {
  Features a{};
  Features b{};
  std::iota(a.begin(), a.end(), 1u);
  b = a;
  b[0] = b[11] = b[5] = 99;

  EXPECT_DOUBLE_EQ(estimated_resemblance(a, a), 1);
  EXPECT_DOUBLE_EQ(estimated_resemblance(a, b), 0.75);
  EXPECT_DOUBLE_EQ(estimated_resemblance(a, Features{}), 0);
}

TEST(EstimatedResemblance, OfTheSameChunkIsOneAndOfUnrelatedChunksZeroForEachMethod) {
  const ByteBuffer chunk = random_bytes(8192, 1);
  const ByteBuffer unrelated = random_bytes(8192, 2);

  for (const auto& detector : all_detectors()) {
    EXPECT_EQ(estimated_resemblance(detector->features(chunk), detector->features(chunk)), 1) << detector->name();
    EXPECT_EQ(estimated_resemblance(detector->features(chunk), detector->features(unrelated)), 0) << detector->name();
  }
}

TEST(Modified, ReplacesInsertsAndTakesOutAsManyBytesAsTheRateSays) {
  constexpr std::size_t kLength = 8;
  constexpr std::size_t kPlaces = 1000;
  const ByteBuffer chunk = random_bytes(kPlaces * kLength, 3);
  std::mt19937_64 random(1);

  const ByteBuffer copy = modified(chunk, {kLength, 0.25}, random);

  // Places that still are in the copy: all but those that were replaced or taken out.
  std::ptrdiff_t kept = 0;
  auto from = copy.begin();
  for (auto place = chunk.begin(); place != chunk.end(); place += kLength) {
    const auto found = std::search(from, copy.end(), place, place + kLength);
    if (found == copy.end()) continue;
    ++kept;
    from = found + kLength;
  }
  const auto growth = (static_cast<std::ptrdiff_t>(copy.size()) - static_cast<std::ptrdiff_t>(chunk.size())) /
                      static_cast<std::ptrdiff_t>(kLength);
  const std::ptrdiff_t inserted = 250 - (std::ptrdiff_t{kPlaces} - kept);  // there are 250 modifications
  const std::ptrdiff_t taken_out = inserted - growth;
  const std::ptrdiff_t replaced = 250 - inserted - taken_out;
  for (const std::ptrdiff_t count : {inserted, taken_out, replaced}) {
    EXPECT_GT(count, 60);
    EXPECT_LT(count, 110);
  }
}

TEST(Modified, HasOneModificationAtLeast) {
  const ByteBuffer chunk = random_bytes(1000, 4);
  std::mt19937_64 random(1);

  const ByteBuffer copy = modified(chunk, {10, 1e-9}, random);

  EXPECT_NE(copy, chunk);
  EXPECT_GT(resemblance_of(chunk, copy), 0.9);
}

TEST(Modified, AtARateOfAllLeavesOnlyWhatWasInsertedInFrontOf) {
  const ByteBuffer chunk = random_bytes(1001, 5);
  std::mt19937_64 random(1);

  const ByteBuffer copy = modified(chunk, {1000, 1}, random);

  EXPECT_EQ(copy.back(), chunk.back());  // lies beyond the last whole place
  EXPECT_EQ(copy.size() % 1000, 1u);
}

TEST(EstimatingError, HasMeanDeviationAndBias) {
  EstimatingError error;
  error.add(0.5, 0.75);
  error.add(0.25, 0);
  error.add(0.5, 0);
  error.add(0.75, 0.75);

  EXPECT_DOUBLE_EQ(error.mean_resemblance(), 0.5);
  EXPECT_DOUBLE_EQ(error.mean(), 0.25);
  EXPECT_DOUBLE_EQ(error.deviation(), std::sqrt((0 + 0 + 0.0625 + 0.0625) / 4));
  EXPECT_DOUBLE_EQ(error.bias(), -0.125);
}

TEST(EstimatingError, OfTwoSetsOfPairsIsThatOfAllOfThem) {
  EstimatingError first, second, both;
  for (const double estimate : {0.1, 0.4, 0.9}) {
    first.add(0.5, estimate);
    both.add(0.5, estimate);
  }
  second.add(0.2, 0.6);
  both.add(0.2, 0.6);

  first += second;

  EXPECT_EQ(first.pairs, 4u);
  EXPECT_DOUBLE_EQ(first.mean(), both.mean());
  EXPECT_DOUBLE_EQ(first.deviation(), both.deviation());
  EXPECT_DOUBLE_EQ(first.bias(), both.bias());
}

TEST(Accuracy, AMethodThatFindsAllAlikeErrsByWhatIsMissing) {
  const Input input = loaded("random:200k");
  Detectors detectors;
  detectors.push_back(std::make_unique<Blind>());

  const auto records =
      measure_accuracy(input, 8192, detectors, {.lengths = {8, 64}, .rates = {0.01, 0.2, 1}, .pairs = 5});

  ASSERT_TRUE(records) << records.error().message();
  ASSERT_EQ(records->size(), 6u);
  EXPECT_EQ((*records)[0].modification.length, 8u);
  EXPECT_EQ((*records)[2].modification.rate, 1);
  EXPECT_EQ((*records)[3].modification.length, 64u);
  for (const AccuracyRecord& record : *records) {
    EXPECT_EQ(record.error.pairs, 5u);
    EXPECT_NEAR(record.error.mean(), 1 - record.error.mean_resemblance(), 1e-12);
    EXPECT_NEAR(record.error.bias(), record.error.mean(), 1e-12);
  }
  EXPECT_GT((*records)[0].error.mean_resemblance(), (*records)[1].error.mean_resemblance());
  EXPECT_LT((*records)[1].error.mean_resemblance(), (*records)[4].error.mean_resemblance());  // shorter ones are more
}

TEST(Accuracy, EachRunGivesTheSame) {
  const Input input = loaded("random:100k");
  const AccuracyOptions options = {.lengths = {16}, .rates = {0.05}, .pairs = 20};

  const auto once = measure_accuracy(input, 4096, all_detectors(), options);
  const auto again = measure_accuracy(input, 4096, all_detectors(), options);

  ASSERT_TRUE(once && again);
  for (std::size_t i = 0; i < once->size(); ++i)
    EXPECT_EQ((*once)[i].error.absolute_sum, (*again)[i].error.absolute_sum) << (*once)[i].method;
}

// The claim of the paper: content-defined sampling costs hardly any accuracy, sub-chunks do.
TEST(Accuracy, OdessPlusErrsAboutAsNTransformAndFinesseMore) {
  const Input input = loaded("random:1m");

  const auto records =
      measure_accuracy(input, 8192, all_detectors(), {.lengths = {128}, .rates = {0.05}, .pairs = 100});

  ASSERT_TRUE(records);
  std::map<std::string, double> error;
  for (const AccuracyRecord& record : *records) error[record.method] = record.error.mean();
  EXPECT_LT(error["n-transform"], 0.1);
  EXPECT_LT(error["odess+"], 1.3 * error["n-transform"]);
  EXPECT_LT(error["odess"], 1.3 * error["n-transform"]);
  EXPECT_GT(error["finesse"], 1.3 * error["odess+"]);
}

TEST(Accuracy, RefusesInputsThatAreShorterThanAChunkAndModificationsThatAreLonger) {
  const Input input = loaded("random:8k");

  const auto no_chunk = measure_accuracy(input, 16384, all_detectors(), {});
  const auto too_long = measure_accuracy(input, 4096, all_detectors(), {.lengths = {8, 4097}});

  ASSERT_FALSE(no_chunk);
  EXPECT_EQ(no_chunk.error().code(), ErrorCode::kInvalidArgument);
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace dedupfs::bench
