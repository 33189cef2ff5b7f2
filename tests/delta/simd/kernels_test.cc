// Each kernel against the definition, in front of and behind pages that must not be touched.
#include "delta/simd/kernels.h"

#include <gtest/gtest.h>

#include <array>

#include "../../chunkers/test_data.h"
#include "../../guarded_bytes.h"
#include "delta/reference/feature_definition.h"
#include "delta/simd/dispatch.h"

namespace dedupfs::resemblance {
namespace {

using FeatureArray = std::array<std::uint64_t, kFeatureCount>;

FeatureArray features_by(ExtractFeatures* extract, const std::uint8_t* p, std::size_t n) {
  FeatureArray features;
  extract(p, n, features.data());
  return features;
}

// Bytes whose windows are never sampled by odess+, all sampled, and sampled on and off.
std::vector<std::pair<std::string, ByteBuffer>> hard_patterns(std::size_t n) {
  auto all = patterns(n, 1);
  for (const unsigned byte : {0x01u, 0x0fu, 0x80u, 0xf0u})
    all.emplace_back("all " + std::to_string(byte), ByteBuffer(n, static_cast<std::uint8_t>(byte)));
  for (int byte = 0; byte < 256; ++byte) {
    const std::uint32_t fingerprint = static_cast<std::uint32_t>(byte) * 0x01010101u * 0x11111111u;
    if (fingerprint < kBoundary) continue;
    all.emplace_back("always sampled", ByteBuffer(n, static_cast<std::uint8_t>(byte)));
    ByteBuffer sometimes = random_bytes(n, 7);
    for (std::size_t i = 0; i < n; ++i)
      if (i % 200 < 90) sometimes[i] = static_cast<std::uint8_t>(byte);
    all.emplace_back("sometimes sampled", std::move(sometimes));
  }
  return all;
}

class EveryKernel : public testing::TestWithParam<Isa> {
 protected:
  static constexpr ExtractFeatures* Kernels::*kSlots[] = {&Kernels::odess_plus, &Kernels::odess, &Kernels::finesse,
                                                          &Kernels::n_transform};

  // Even of one that fails the self-test, for which dispatch would hide it.
  void for_each_slot(auto check) const {
    for (const auto slot : kSlots)
      if (ExtractFeatures* const extract = kernels_of(GetParam()).*slot; extract != nullptr)
        check(extract, kScalarKernels.*slot);
  }

  GuardedBytes memory_;
};

TEST_P(EveryKernel, FindsTheFeaturesOfChunksOfAllLengths) {
  for (const auto& [name, data] : hard_patterns(memory_.size())) {
    memory_.fill(data);
    for_each_slot([&, &name = name](ExtractFeatures* extract, ExtractFeatures* definition) {
      for (std::size_t n = kRabinFeatureWindowBytes; n <= memory_.size(); n += n < 420 ? 1 : 61)
        for (const std::uint8_t* p : {memory_.begin(), memory_.begin() + 1, memory_.end() - n}) {
          if (p + n > memory_.end()) continue;
          ASSERT_EQ(features_by(extract, p, n), features_by(definition, p, n)) << name << ", n = " << n;
        }
    });
  }
}

TEST_P(EveryKernel, FindsTheFeaturesOfTheShortestChunks) {
  memory_.fill(random_bytes(memory_.size(), 3));
  for (std::size_t n = kOdessPlusWindowBytes; n < 64; ++n)
    for (const std::uint8_t* p : {memory_.begin(), memory_.end() - n})
      ASSERT_EQ(features_by(kernels_of(GetParam()).odess_plus, p, n), features_by(kScalarKernels.odess_plus, p, n))
          << n;
}

TEST_P(EveryKernel, FindsTheFeaturesOfLongChunks) {
  for (const auto& [name, data] : hard_patterns(300'000))
    for_each_slot([&, &name = name, &data = data](ExtractFeatures* extract, ExtractFeatures* definition) {
      for (const std::size_t n : {std::size_t{65'536}, std::size_t{65'537}, data.size() - 3, data.size()})
        ASSERT_EQ(features_by(extract, data.data(), n), features_by(definition, data.data(), n)) << name << ", " << n;
    });
}

// Where a sample lies, in which segment and which lane, makes no difference.
TEST_P(EveryKernel, FindsALoneSampleWhereverItIs) {
  const ByteBuffer noise = random_bytes(4096, 11);
  std::size_t sampled = noise.size();
  for (std::size_t i = 0; i + kOdessPlusWindowBytes <= noise.size() && sampled == noise.size(); ++i) {
    std::uint32_t fingerprint = 0, word = 0;
    for (std::size_t k = 0; k < kOdessPlusWindowBytes; ++k) {
      word = word << 8 | noise[i + k];
      if (k % 4 == 3) fingerprint = (fingerprint << 4) + word;
    }
    if (fingerprint >= kBoundary) sampled = i;
  }
  ASSERT_LT(sampled, noise.size());

  constexpr std::size_t kLength = 700;
  for_each_slot([&](ExtractFeatures* extract, ExtractFeatures* definition) {
    for (std::size_t at = 0; at + kOdessPlusWindowBytes <= kLength; ++at) {
      ByteBuffer chunk(kLength);
      std::copy_n(noise.begin() + static_cast<std::ptrdiff_t>(sampled), kOdessPlusWindowBytes,
                  chunk.begin() + static_cast<std::ptrdiff_t>(at));
      ASSERT_EQ(features_by(extract, chunk.data(), kLength), features_by(definition, chunk.data(), kLength)) << at;
    }
  });
}

std::vector<Isa> isas_with_kernels() {
  std::vector<Isa> isas = available_isas();
  std::erase_if(isas, [](Isa isa) { return isa == Isa::kScalar || kernels_of(isa).odess_plus == nullptr; });
  return isas;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EveryKernel);
INSTANTIATE_TEST_SUITE_P(Resemblance, EveryKernel, testing::ValuesIn(isas_with_kernels()),
                         [](const auto& test) { return identifier(name_of(test.param)); });

}  // namespace
}  // namespace dedupfs::resemblance
