#include "delta/resemblance.h"

#include <gtest/gtest.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
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

// The definition in delta/reference/feature_definition.h, written once more, from its words.
namespace definition {

std::array<std::uint32_t, 2 * kFeatures> transform_numbers() {
  std::array<std::uint32_t, 2 * kFeatures> numbers;
  std::uint64_t state = 1;
  for (auto& number : numbers) number = static_cast<std::uint32_t>(splitmix64(state)) | 1;
  return numbers;
}

Features transforms(std::uint32_t fingerprint) {
  static const auto kNumbers = transform_numbers();
  Features all;
  for (std::size_t k = 0; k < kFeatures; ++k) all[k] = kNumbers[2 * k] * fingerprint + kNumbers[2 * k + 1];
  return all;
}

// The windows of W bytes, one after the other.
std::vector<ByteSpan> windows(const ByteBuffer& chunk, std::size_t width) {
  std::vector<ByteSpan> all;
  for (std::size_t i = 0; i + width <= chunk.size(); ++i) all.push_back(ByteSpan(chunk).subspan(i, width));
  return all;
}

ByteBuffer filled_up(ByteSpan chunk, std::size_t width) {
  ByteBuffer filled(std::max(chunk.size(), width));
  std::copy(chunk.begin(), chunk.end(), filled.end() - static_cast<std::ptrdiff_t>(chunk.size()));
  return filled;
}

std::uint64_t rabin(ByteSpan window) {
  std::uint64_t residue = 0;
  for (const std::uint8_t byte : window)
    for (int bit = 7; bit >= 0; --bit) {
      residue = residue << 1 | (byte >> bit & 1u);
      if ((residue >> 53) != 0) residue ^= 0x3DA3358B4DC173;
    }
  return residue;
}

std::uint64_t gear(ByteSpan window) {
  static const auto kTable = [] {
    std::array<std::uint64_t, 256> table;
    std::uint64_t state = 0;
    for (auto& entry : table) entry = splitmix64(state);
    return table;
  }();
  std::uint64_t hash = 0;
  for (std::size_t t = 0; t < window.size(); ++t) hash += kTable[window[window.size() - 1 - t]] << t;
  return hash;
}

std::uint32_t swpr(ByteSpan window) {
  std::uint64_t sum = 0;
  for (std::size_t t = 0; t < 8; ++t) {
    std::uint64_t word = 0;
    for (std::size_t k = 0; k < 4; ++k) word = word << 8 | window[28 - 4 * t + k];
    sum += word << (4 * t);
  }
  return static_cast<std::uint32_t>(sum);
}

Features n_transform(ByteSpan chunk) {
  Features features{};
  const ByteBuffer filled = filled_up(chunk, 48);
  for (const ByteSpan window : windows(filled, 48)) {
    const Features all = transforms(static_cast<std::uint32_t>(rabin(window)));
    for (std::size_t k = 0; k < kFeatures; ++k) features[k] = std::max(features[k], all[k]);
  }
  return features;
}

Features finesse(ByteSpan chunk) {
  const ByteBuffer filled = filled_up(chunk, 48);
  const std::size_t m = filled.size() - 47;
  Features features{};
  for (std::size_t j = 0; j < m; ++j)
    for (std::size_t k = 0; k < kFeatures; ++k)
      if (m < kFeatures || (k * m / 12 <= j && j < (k + 1) * m / 12))
        features[k] = std::max(features[k], rabin(ByteSpan(filled).subspan(j, 48)));
  return features;
}

template <class Hash, class Sampled>
Features sampled_features(ByteSpan chunk, std::size_t width, Hash hash, Sampled sampled) {
  std::uint32_t largest = 0;
  std::vector<std::uint32_t> samples;
  const ByteBuffer filled = filled_up(chunk, width);
  for (const ByteSpan window : windows(filled, width)) {
    largest = std::max(largest, static_cast<std::uint32_t>(hash(window)));
    if (sampled(hash(window))) samples.push_back(static_cast<std::uint32_t>(hash(window)));
  }
  if (samples.empty()) samples.push_back(largest);
  Features features;
  features.fill(0xffff'ffff);
  for (const std::uint32_t sample : samples) {
    const Features all = transforms(sample);
    for (std::size_t k = 0; k < kFeatures; ++k) features[k] = std::min(features[k], all[k]);
  }
  return features;
}

Features odess(ByteSpan chunk) {
  return sampled_features(chunk, 47, gear, [](std::uint64_t hash) { return (hash & 0x400303410000) == 0; });
}

Features odess_plus(ByteSpan chunk) {
  return sampled_features(chunk, 32, swpr, [](std::uint32_t hash) { return hash >= 0xfe000000; });
}

Sketch sketch(const Features& features, const std::array<std::array<std::size_t, 4>, 3>& order) {
  Sketch sketch;
  for (std::size_t s = 0; s < kSuperFeatures; ++s) {
    ByteBuffer bytes;
    for (const std::size_t k : order[s])
      for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::uint8_t>(features[k] >> (8 * i)));
    sketch.super_features[s] = XXH64(bytes.data(), bytes.size(), s);
  }
  return sketch;
}

struct Method {
  std::string_view name;
  Features (*features)(ByteSpan chunk);
};
constexpr Method kMethods[] = {
    {"odess+", odess_plus}, {"odess", odess}, {"finesse", finesse}, {"n-transform", n_transform}};

}  // namespace definition

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

TEST(Resemblance, FeaturesAreTheDefinedOnesOnEveryInstructionSet) {
  for (const auto& method : definition::kMethods)
    for (const Isa isa : available_isas()) {
      const auto tested = detector(method.name, isa);
      for (const auto& [pattern, data] : patterns(2000, 5))
        for (std::size_t n = 0; n <= data.size(); n += n < 70 ? 1 : n < 300 ? 23 : 431)
          ASSERT_EQ(tested->features(ByteSpan(data).first(n)), method.features(ByteSpan(data).first(n)))
              << method.name << ", " << name_of(isa) << ", " << pattern << ", n = " << n;
    }
}

TEST(Resemblance, SuperFeaturesAreHashesOfFourFeaturesInOrder) {
  const Features features = {30, 20, 10, 3, 2, 1, 500, 600, 700, std::uint64_t{1} << 50, 0, 7};
  for (const std::string_view name : {"odess+", "odess", "n-transform"})
    EXPECT_EQ(detector(name)->sketch(features),
              definition::sketch(features, {{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}}}))
        << name;
}

TEST(Resemblance, SuperFeaturesOfFinesseAreHashesOfFourFeaturesByRank) {
  const Features features = {30, 10, 20, 1, 2, 3, 600, 700, 500, std::uint64_t{1} << 50, 0, 7};
  EXPECT_EQ(detector("finesse")->sketch(features),
            definition::sketch(features, {{{0, 5, 7, 9}, {2, 4, 6, 11}, {1, 3, 8, 10}}}));
}

// Sketches are kept in volumes: if one of these changes, near-duplicates of what is stored will not be found any more.
TEST(Resemblance, SketchesNeverChange) {
  struct Golden {
    std::string_view method;
    ByteBuffer chunk;
    Sketch sketch;
  };
  const ByteBuffer noise = random_bytes(8192, 1), zeros(4096), empty;
  ByteBuffer text;
  for (const char c : std::string_view("the quick brown fox jumps over the lazy dog, and once more: "))
    text.push_back(static_cast<std::uint8_t>(c));
  for (int i = 0; i < 6; ++i) text.insert(text.end(), text.begin(), text.end());
  const Golden kGoldens[] = {
      {"odess+", noise, {{0x03d68b7edff1bdb0, 0x3f8b83ac15e06240, 0x9df6d67ce72cf9a4}}},
      {"odess+", text, {{0x29b15fe54cb8362f, 0x0fb331073d2c9b5f, 0xaad2f6e480dbe5c8}}},
      {"odess+", zeros, {{0x600d6eac8ceaff3c, 0x2c94c0237219f1a9, 0xdb59e3fd7e9e6ce3}}},
      {"odess+", empty, {{0x600d6eac8ceaff3c, 0x2c94c0237219f1a9, 0xdb59e3fd7e9e6ce3}}},
      {"odess", noise, {{0xf1fab77f09490744, 0x1b632472df8a28ab, 0x05d8a7ba6d1ab62a}}},
      {"odess", text, {{0x3a00c6c5e09ac6e1, 0x89e52e179d2dddbe, 0xeb1fb66954f55156}}},
      {"odess", zeros, {{0xa4bffb9ba59b8088, 0x46364c2b6951905c, 0x559a9465ebb4bf24}}},
      {"odess", empty, {{0xa4bffb9ba59b8088, 0x46364c2b6951905c, 0x559a9465ebb4bf24}}},
      {"finesse", noise, {{0x6369d0b290b8cf20, 0xf64eb5a9e6ae7f90, 0x941d04f61e73c68d}}},
      {"finesse", text, {{0xe3e5e947e021d67d, 0x9a4e6350c0514723, 0xc52bc7f2e0aae258}}},
      {"finesse", zeros, {{0xf6e9be5d70632cf5, 0x79e8258a15b0fe62, 0x0a295612df374988}}},
      {"finesse", empty, {{0xf6e9be5d70632cf5, 0x79e8258a15b0fe62, 0x0a295612df374988}}},
      {"n-transform", noise, {{0x188bca7abe0a6682, 0xaef9d0695c652bda, 0xd91d90c5b9c8f2a0}}},
      {"n-transform", text, {{0xdfe9ff35cbac8bc6, 0xfbcf5af3f354a9ca, 0xddaad894dd281141}}},
      {"n-transform", zeros, {{0x600d6eac8ceaff3c, 0x2c94c0237219f1a9, 0xdb59e3fd7e9e6ce3}}},
      {"n-transform", empty, {{0x600d6eac8ceaff3c, 0x2c94c0237219f1a9, 0xdb59e3fd7e9e6ce3}}},
  };
  for (const Golden& golden : kGoldens)
    for (const Isa isa : available_isas())
      EXPECT_EQ(detector(golden.method, isa)->sketch_of(golden.chunk), golden.sketch)
          << golden.method << ", " << golden.chunk.size() << " bytes, " << name_of(isa);
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

// Finesse divides a chunk by place, so that it loses a few more.
TEST_P(EveryMethod, ChunksWithBytesInsertedShareSuperFeatures) {
  int similar = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const ByteBuffer chunk = random_bytes(8192, 1000 + seed), inserted = random_bytes(20, 5000 + seed);
    ByteBuffer longer = chunk;
    longer.insert(longer.begin() + static_cast<std::ptrdiff_t>(seed * 80), inserted.begin(), inserted.end());
    similar += common_super_features(sketch(chunk), sketch(longer)) > 0 ? 1 : 0;
  }
  EXPECT_GE(similar, GetParam() == "finesse" ? 90 : 97);
}

TEST_P(EveryMethod, SharesAsManyFeaturesAsContent) {
  for (const double changed : {0.02, 0.1, 0.3}) {
    constexpr int kPairs = 60;
    std::size_t common = 0;
    for (std::uint64_t seed = 0; seed < kPairs; ++seed) {
      const ByteBuffer chunk = random_bytes(16384, 3000 + seed);
      ByteBuffer other = random_bytes(chunk.size(), 7000 + seed);
      const auto begin = static_cast<std::ptrdiff_t>(seed * 37), length = std::lround(changed * 16384);
      std::copy(chunk.begin(), chunk.begin() + begin, other.begin());
      std::copy(chunk.begin() + begin + length, chunk.end(), other.begin() + begin + length);
      const Features a = features(chunk), b = features(other);
      for (std::size_t k = 0; k < kFeatures; ++k) common += std::size_t{a[k] == b[k]};
    }
    const double share = static_cast<double>(common) / (kPairs * kFeatures);
    const double expected = (1 - changed) / (1 + changed);  // windows in both of the windows in either

    if (GetParam() != "finesse") {
      EXPECT_NEAR(share, expected, 0.06) << changed;
    } else {  // a run of changes meets few of its sub-chunks
      EXPECT_NEAR(share, 1 - changed, 0.12) << changed;
    }
  }
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
