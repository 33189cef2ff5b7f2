#include "delta/resemblance.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "../chunkers/test_data.h"

namespace dedupfs {
namespace {

std::unique_ptr<ResemblanceDetector> detector(std::string_view method, Isa isa = Isa::kScalar) {
  auto made = make_resemblance_detector(method, isa);
  EXPECT_TRUE(made);
  return *std::move(made);
}

class EveryMethod : public testing::TestWithParam<std::string> {
 protected:
  Features features(ByteSpan chunk) const { return detector_->features(chunk); }
  Sketch sketch(ByteSpan chunk) const { return detector_->sketch_of(chunk); }

  std::unique_ptr<ResemblanceDetector> detector_ = detector(GetParam());
};

std::size_t common_super_features(const Sketch& a, const Sketch& b) {
  std::size_t common = 0;
  for (std::size_t s = 0; s < kSuperFeatures; ++s) common += std::size_t{a.super_features[s] == b.super_features[s]};
  return common;
}

TEST(Resemblance, IsMadeByName) {
  std::set<std::string_view> names;
  for (const auto& info : resemblance_method_infos()) {
    names.insert(info.name);
    EXPECT_EQ(detector(info.name)->name(), info.name);
    EXPECT_FALSE(info.summary.empty());
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"odess+", "odess", "finesse", "n-transform"}));
}

TEST(Resemblance, UnknownNameIsRefusedWithTheNamesThereAre) {
  const auto made = make_resemblance_detector("odes", Isa::kScalar);

  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::kInvalidArgument);
  for (const auto& info : resemblance_method_infos())
    EXPECT_NE(made.error().message().find(info.name), std::string::npos) << info.name;
}

TEST_P(EveryMethod, SimilarChunksShareSuperFeaturesAndUnrelatedOnesDoNot) {
  constexpr int kPairs = 100;
  int similar = 0, unrelated = 0;
  for (std::uint64_t seed = 0; seed < kPairs; ++seed) {
    const ByteBuffer chunk = random_bytes(8192, 2 * seed);
    ByteBuffer edited = chunk;
    std::uint64_t state = seed;
    for (int edit = 0; edit < 2; ++edit) edited[splitmix64(state) % edited.size()] ^= 0x55;
    similar += common_super_features(sketch(chunk), sketch(edited)) > 0 ? 1 : 0;
    unrelated += common_super_features(sketch(chunk), sketch(random_bytes(8192, 2 * seed + 1))) > 0 ? 1 : 0;
  }

  EXPECT_GE(similar, 97);
  EXPECT_EQ(unrelated, 0);
}

TEST_P(EveryMethod, ConstantChunksAreAlikeOnlyWhenOfTheSameByte) {
  std::map<std::uint64_t, int> seen;
  for (int byte = 0; byte < 256; ++byte) {
    const Sketch of_byte = sketch(ByteBuffer(8192, static_cast<std::uint8_t>(byte)));
    EXPECT_EQ(of_byte, sketch(ByteBuffer(5000, static_cast<std::uint8_t>(byte))));
    for (const std::uint64_t super_feature : of_byte.super_features) ++seen[super_feature];
  }

  EXPECT_EQ(seen.size(), 256 * kSuperFeatures);
}

INSTANTIATE_TEST_SUITE_P(Resemblance, EveryMethod, testing::Values("odess+", "odess", "finesse", "n-transform"),
                         [](const auto& test) {
                           return test.param == "odess+" ? std::string("odess_plus") : identifier(test.param);
                         });

}  // namespace
}  // namespace dedupfs
