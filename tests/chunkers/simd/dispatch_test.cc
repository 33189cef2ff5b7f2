#include "chunkers/simd/dispatch.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dedupfs::simd {
namespace {

TEST(Dispatch, EveryKernelOfThisCpuPassesItsSelfTest) {
  for (const Isa isa : available_isas()) {
    const auto passes = [&](auto slot) { return kernels_of(isa).*slot == nullptr || passes_self_test(slot, isa); };
    for (const auto slot : {&Kernels::max_byte, &Kernels::min_byte}) EXPECT_TRUE(passes(slot)) << name_of(isa);
    for (const auto slot : {&Kernels::first_above, &Kernels::first_at_least, &Kernels::first_below,
                            &Kernels::first_at_most, &Kernels::first_equal})
      EXPECT_TRUE(passes(slot)) << name_of(isa);
    for (const auto slot : {&Kernels::ae_max, &Kernels::ae_min, &Kernels::ram, &Kernels::maxp})
      EXPECT_TRUE(passes(slot)) << name_of(isa);
    for (const auto slot : {&Kernels::seqcdc_increasing, &Kernels::seqcdc_decreasing})
      EXPECT_TRUE(passes(slot)) << name_of(isa);
    for (const auto slot : {&Kernels::gear, &Kernels::gear32, &Kernels::gear16, &Kernels::gear_low, &Kernels::crc,
                            &Kernels::rabin, &Kernels::toga})
      EXPECT_TRUE(passes(slot)) << name_of(isa);
  }
}

// Each kernel here is right but for one kind of place, as a CPU's fault or a bug would have it.
TEST(Dispatch, WrongKernelsFailTheSelfTest) {
  EXPECT_FALSE(agrees<ExtremeByte>(
      [](const std::uint8_t* p, std::size_t n) { return *std::max_element(p, p + (n > 64 ? n - 1 : n)); },
      &Kernels::max_byte));
  EXPECT_FALSE(agrees<RangeScan>(
      [](const std::uint8_t* p, std::size_t n, std::uint8_t limit) {
        return kScalarKernels.first_at_least(p, n, limit == 255 ? std::uint8_t{254} : limit);
      },
      &Kernels::first_at_least));
  EXPECT_FALSE(agrees<WindowCut>(
      [](const std::uint8_t* p, std::size_t n, std::size_t window) { return kScalarKernels.maxp(p, n, window & ~1ul); },
      &Kernels::maxp));
  EXPECT_FALSE(agrees<SeqCdcCut>(
      [](const std::uint8_t* p, std::size_t n, const SeqCdcParameters& parameters) {
        SeqCdcParameters other = parameters;
        ++other.skip_bytes;
        return kScalarKernels.seqcdc_increasing(p, n, other);
      },
      &Kernels::seqcdc_increasing));
  EXPECT_FALSE(agrees<CandidateScan>(
      [](const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
        kScalarKernels.crc(p, n, mask, bits);
        if (n > 128) bits[1] ^= 1;
      },
      &Kernels::crc));
}

// Upper bytes of a hash are looked up apart from the lower ones, so that one can be wrong where the other is right.
TEST(Dispatch, ScansThatAreWrongInOneByteOfTheHashFailTheSelfTest) {
  const auto fails = [](CandidateScan* Kernels::*slot, CandidateScan* wrong) { return !agrees(wrong, slot); };
  EXPECT_TRUE(fails(&Kernels::gear, [](const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
    kScalarKernels.gear(p, n, mask & 0x00ffffffffffffff, bits);
  }));
  EXPECT_TRUE(fails(&Kernels::gear, [](const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
    kScalarKernels.gear(p, n, mask & 0xffffff00ffffffff, bits);
  }));
  EXPECT_TRUE(
      fails(&Kernels::gear32, [](const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
        kScalarKernels.gear32(p, n, mask & 0xff00ffff, bits);
      }));
  EXPECT_TRUE(fails(&Kernels::crc, [](const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
    kScalarKernels.crc(p, n, mask & 0x00ffffff, bits);
  }));
  EXPECT_TRUE(fails(&Kernels::rabin, [](const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
    kScalarKernels.rabin(p, n, mask & 0xffffffffffff, bits);
  }));
}

TEST(Dispatch, TakesTheNextNarrowerWhereAnIsaHasNoKernel) {
  for (const Isa isa : available_isas())
    for (const auto slot : {&Kernels::gear, &Kernels::crc, &Kernels::toga}) {
      const auto choice = choose(slot, isa);
      EXPECT_NE(choice.run, nullptr);
      EXPECT_LE(choice.isa, isa);
      EXPECT_EQ(choice.run, kernels_of(choice.isa).*slot);
    }
}

TEST(Dispatch, ScalarHasEveryKernel) {
  const auto pointers = reinterpret_cast<void* const*>(&kScalarKernels);
  for (std::size_t i = 0; i < sizeof(Kernels) / sizeof(void*); ++i) EXPECT_NE(pointers[i], nullptr) << i;
}

}  // namespace
}  // namespace dedupfs::simd
