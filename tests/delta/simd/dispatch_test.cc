#include "delta/simd/dispatch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "delta/reference/feature_definition.h"

namespace dedupfs::resemblance {
namespace {

constexpr ExtractFeatures* Kernels::*kMethods[] = {&Kernels::odess_plus, &Kernels::odess, &Kernels::finesse,
                                                   &Kernels::n_transform};

TEST(ResemblanceDispatch, TheDefinitionHasEveryKernel) {
  for (const auto slot : kMethods) EXPECT_NE(kScalarKernels.*slot, nullptr);
  EXPECT_EQ(sizeof(Kernels) / sizeof(ExtractFeatures*), std::size(kMethods)) << "a slot that this test does not know";
}

TEST(ResemblanceDispatch, AnIsaOfAnotherArchitectureHasNoKernels) {
  const auto has_any = [&](Isa isa) {
    return std::ranges::any_of(kMethods, [&](auto slot) { return kernels_of(isa).*slot != nullptr; });
  };
#if defined(__x86_64__)
  EXPECT_FALSE(has_any(Isa::kNeon));
  EXPECT_FALSE(has_any(Isa::kVsx));
#else
  EXPECT_FALSE(has_any(Isa::kSse41));
  EXPECT_FALSE(has_any(Isa::kAvx2));
  EXPECT_FALSE(has_any(Isa::kAvx512));
#endif
  EXPECT_FALSE(has_any(Isa::kAvx512Gather)) << "which is one of chunkers alone";
  EXPECT_TRUE(has_any(Isa::kScalar));
}

TEST(ResemblanceDispatch, EveryKernelOfThisCpuPassesItsSelfTest) {
  for (const Isa isa : available_isas())
    for (const auto slot : {&Kernels::odess_plus, &Kernels::odess, &Kernels::finesse, &Kernels::n_transform}) {
      ExtractFeatures* const extract = kernels_of(isa).*slot;
      EXPECT_TRUE(extract == nullptr || agrees(extract, slot)) << name_of(isa);
    }
}

TEST(ResemblanceDispatch, AKernelThatIsWrongInOnePlaceFailsTheSelfTest) {
  EXPECT_FALSE(agrees([](const std::uint8_t* p, std::size_t n,
                         std::uint64_t* features) { kScalarKernels.odess_plus(p, n > 64 ? n - 16 : n, features); },
                      &Kernels::odess_plus));
  EXPECT_FALSE(agrees(
      [](const std::uint8_t* p, std::size_t n, std::uint64_t* features) {
        kScalarKernels.odess_plus(p, n, features);
        features[11] |= 0x100;
      },
      &Kernels::odess_plus));
}

TEST(ResemblanceDispatch, AMethodWithoutAKernelOfTheIsaIsServedByTheDefinition) {
  for (const Isa isa : available_isas()) EXPECT_EQ(choose(&Kernels::n_transform, isa).run, kScalarKernels.n_transform);
  EXPECT_EQ(choose(&Kernels::odess_plus, Isa::kScalar).isa, Isa::kScalar);
}

TEST(ResemblanceDispatch, NoWiderKernelIsChosenThanAskedFor) {
  for (const Isa isa : available_isas()) {
    const Choice choice = choose(&Kernels::odess_plus, isa);
    EXPECT_LE(choice.isa, isa);
    EXPECT_TRUE(choice.isa == isa || kernels_of(isa).odess_plus == nullptr) << name_of(isa);
  }
}

// Each is wrong in one feature, of chunks of one length or content.
TEST(ResemblanceDispatch, AWrongKernelOfAnyMethodFailsTheSelfTest) {
  EXPECT_FALSE(agrees(
      [](const std::uint8_t* p, std::size_t n, std::uint64_t* features) {
        kScalarKernels.odess(p, n, features);
        if (n == 4099) features[0] ^= 1;
      },
      &Kernels::odess));
  EXPECT_FALSE(agrees(
      [](const std::uint8_t* p, std::size_t n, std::uint64_t* features) {
        kScalarKernels.finesse(p, n, features);
        std::swap(features[3], features[4]);
      },
      &Kernels::finesse));
  EXPECT_FALSE(agrees(
      [](const std::uint8_t* p, std::size_t n, std::uint64_t* features) {
        kScalarKernels.n_transform(p, n, features);
        if (std::all_of(p, p + n, [](std::uint8_t byte) { return byte == 0; })) ++features[kFeatureCount - 1];
      },
      &Kernels::n_transform));
  EXPECT_TRUE(agrees(kScalarKernels.odess, &Kernels::odess));
}

}  // namespace
}  // namespace dedupfs::resemblance
