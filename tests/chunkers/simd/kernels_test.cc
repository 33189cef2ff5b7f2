// Each kernel against a plain loop, at all small lengths, in front of and behind pages that must not be touched.
#include "chunkers/kernels/kernels.h"

#include <gtest/gtest.h>

#include "../../guarded_bytes.h"
#include "../test_data.h"
#include "chunkers/simd/dispatch.h"

namespace dedupfs {
namespace {

class EveryKernel : public testing::TestWithParam<Isa> {
 protected:
  // What this ISA runs: its own kernel, or that of a narrower one where it has none. Its own even if that fails the self
  // test, for which dispatch would hide it.
  template <class Kernel>
  Kernel* kernel(Kernel* simd::Kernels::*slot) const {
    Kernel* const own = simd::kernels_of(GetParam()).*slot;
    return own != nullptr ? own : simd::choose(slot, GetParam()).run;
  }

  void finds_extreme(simd::ExtremeByte* simd::Kernels::*slot, auto better) const {
    simd::ExtremeByte* const extreme = kernel(slot);
    for (const auto& [name, data] : patterns(memory_.size(), 1)) {
      memory_.fill(data);
      for (std::size_t n = 1; n <= 600; ++n)
        for (const std::uint8_t* p : {memory_.begin(), memory_.begin() + 1, memory_.end() - n})
          ASSERT_EQ(extreme(p, n), *std::min_element(p, p + n, better)) << name << ", n = " << n;
    }
    for (std::size_t n = 1; n <= 520; n += n < 140 ? 1 : 19) {
      const std::uint8_t common = better(1, 0) ? 3 : 200, rare = better(1, 0) ? 200 : 3;
      ByteBuffer data(n, common);
      for (std::size_t i = 0; i < n; ++i) {
        data[i] = rare;
        ASSERT_EQ(extreme(data.data(), n), rare) << i << " of " << n;
        data[i] = common;
      }
    }
  }

  void finds_first(simd::RangeScan* simd::Kernels::*slot, auto holds) const {
    simd::RangeScan* const first = kernel(slot);
    for (const auto& [name, data] : patterns(memory_.size(), 2)) {
      memory_.fill(data);
      for (const unsigned limit : {0u, 1u, 20u, 127u, 128u, 200u, 254u, 255u})
        for (std::size_t n = 0; n <= 300; ++n)
          for (const std::uint8_t* p : {memory_.begin(), memory_.begin() + 1, memory_.end() - n}) {
            const auto found = std::find_if(p, p + n, [&](unsigned byte) { return holds(byte, limit); }) - p;
            ASSERT_EQ(first(p, n, static_cast<std::uint8_t>(limit)), static_cast<std::size_t>(found))
                << name << ", n = " << n << ", limit = " << limit;
          }
    }
  }

  // The definition is tested by itself, in chunker_test.cc and golden_test.cc.
  void cuts_as_scalar(auto slot, const auto& parameters_to_try) const {
    for (const auto& [name, data] : patterns(memory_.size(), 3)) {
      memory_.fill(data);
      for (const auto& parameters : parameters_to_try)
        for (std::size_t n = 0; n <= memory_.size(); n += n < 700 ? 1 : 97)
          for (const std::uint8_t* p : {memory_.begin(), memory_.end() - n})
            ASSERT_EQ(kernel(slot)(p, n, parameters), (simd::kScalarKernels.*slot)(p, n, parameters))
                << name << ", n = " << n;
    }
  }

  void marks_as_scalar(simd::CandidateScan* simd::Kernels::*slot, std::size_t look_back,
                       std::initializer_list<std::uint64_t> masks) const {
    simd::CandidateScan* const scan = kernel(slot);
    for (const auto& [name, data] : patterns(memory_.size(), 4)) {
      memory_.fill(data);
      for (const std::uint64_t mask : masks)
        for (std::size_t n = 0; n <= memory_.size() - look_back; n += n < 200 ? 1 : n < 700 ? 37 : 311)
          for (const std::size_t at : {look_back, look_back + 1, data.size() - n}) {
            if (at + n > data.size() || at < look_back) continue;
            std::vector<std::uint64_t> expected((n + 63) / 64), bits((n + 63) / 64 + 1, 0x5a5a5a5a5a5a5a5a);
            (simd::kScalarKernels.*slot)(memory_.begin() + at, n, mask, expected.data());

            scan(memory_.begin() + at, n, mask, bits.data());

            ASSERT_EQ(bits.back(), 0x5a5a5a5a5a5a5a5a) << "written past the end, n = " << n;
            bits.pop_back();
            ASSERT_EQ(bits, expected) << name << ", n = " << n << ", mask " << mask;
          }
    }
  }

  GuardedBytes memory_;
};

TEST_P(EveryKernel, FindsTheLargestByte) {
  finds_extreme(&simd::Kernels::max_byte, [](unsigned a, unsigned b) { return a > b; });
}
TEST_P(EveryKernel, FindsTheSmallestByte) {
  finds_extreme(&simd::Kernels::min_byte, [](unsigned a, unsigned b) { return a < b; });
}

TEST_P(EveryKernel, FindsTheFirstByteInRange) {
  finds_first(&simd::Kernels::first_above, [](unsigned byte, unsigned limit) { return byte > limit; });
  finds_first(&simd::Kernels::first_at_least, [](unsigned byte, unsigned limit) { return byte >= limit; });
  finds_first(&simd::Kernels::first_below, [](unsigned byte, unsigned limit) { return byte < limit; });
  finds_first(&simd::Kernels::first_at_most, [](unsigned byte, unsigned limit) { return byte <= limit; });
  finds_first(&simd::Kernels::first_equal, [](unsigned byte, unsigned limit) { return byte == limit; });
}

constexpr std::size_t kWindows[] = {64, 65, 126, 127, 128, 200, 511, 512, 513, 1000, 3000};

TEST_P(EveryKernel, CutsByAe) {
  cuts_as_scalar(&simd::Kernels::ae_max, kWindows);
  cuts_as_scalar(&simd::Kernels::ae_min, kWindows);
}
TEST_P(EveryKernel, CutsByRam) {
  cuts_as_scalar(&simd::Kernels::ram, kWindows);
}
TEST_P(EveryKernel, CutsByMaxp) {
  cuts_as_scalar(&simd::Kernels::maxp, kWindows);
}

// Whether a peak ends a chunk hangs on the distance to the next, to the byte.
TEST_P(EveryKernel, CutsWherePeaksAreAboutAWindowApart) {
  for (const std::size_t window : {64u, 126u, 127u, 128u, 190u, 191u, 192u, 887u, 1024u, 4287u, 5000u})
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      ByteBuffer data = random_bytes(40 * window, seed, 100);
      std::uint64_t state = seed;
      for (std::size_t i = window / 2; i < data.size(); i += window - 2 + splitmix64(state) % 5) {
        constexpr std::uint8_t kPeaks[] = {101, 101, 102, 255};
        data[i] = kPeaks[splitmix64(state) % (seed % 2 == 0 ? 4 : 2)];
      }
      ByteBuffer valleys = data;
      for (auto& byte : valleys) byte = static_cast<std::uint8_t>(~byte);
      for (const auto& [slot, bytes] :
           std::initializer_list<std::pair<simd::WindowCut * simd::Kernels::*, const ByteBuffer*>>{
               {&simd::Kernels::ae_max, &data},
               {&simd::Kernels::ae_min, &valleys},
               {&simd::Kernels::ram, &data},
               {&simd::Kernels::maxp, &data}})
        for (std::size_t start = 0; start < data.size(); start += window / 3 + 1) {
          const std::uint8_t* const p = bytes->data() + start;
          const std::size_t n = data.size() - start;
          ASSERT_EQ(kernel(slot)(p, n, window), (simd::kScalarKernels.*slot)(p, n, window))
              << "window " << window << ", seed " << seed << ", start " << start;
        }
    }
}

TEST_P(EveryKernel, CutsBySeqCdc) {
  constexpr simd::SeqCdcParameters kParameters[] = {{64, 1, 1, 0},    {64, 5, 50, 256},  {65, 3, 2, 1},
                                                    {100, 4, 10, 64}, {64, 32, 5, 63},   {200, 6, 1, 17},
                                                    {512, 5, 55, 1},  {64, 8, 4000, 64}, {1000, 5, 64, 512}};
  cuts_as_scalar(&simd::Kernels::seqcdc_increasing, kParameters);
  cuts_as_scalar(&simd::Kernels::seqcdc_decreasing, kParameters);
}

// Rises among equal bytes, `gap` bytes apart, from every place in a word on.
TEST_P(EveryKernel, CountsSeqCdcRunsAcrossWordsAndEqualBytes) {
  constexpr std::size_t kMin = 64;
  for (const auto& [slot, start_byte, step] :
       {std::tuple{&simd::Kernels::seqcdc_increasing, 100, 1}, std::tuple{&simd::Kernels::seqcdc_decreasing, 150, -1}})
    for (std::size_t length = 1; length <= 32; ++length)
      for (const std::size_t gap : {1u, 2u, 9u, 70u})
        for (std::size_t at = kMin; at < kMin + 140; at += gap == 70 ? 13 : 1) {
          const std::size_t end = at + (length - 1) * gap;
          ByteBuffer data(end + 100);
          for (std::size_t i = 0; i < data.size(); ++i) {
            const int rises = i < at ? 0 : static_cast<int>((i - at) / gap) + 1;
            data[i] = static_cast<std::uint8_t>(start_byte + step * std::min(rises, 33));
          }

          EXPECT_EQ(kernel(slot)(data.data(), data.size(), {kMin, length, 1, 10}), end)
              << "length " << length << ", gap " << gap << ", from " << at;
          EXPECT_EQ(kernel(slot)(data.data(), end, {kMin, length, 1, 10}), 0u) << "the run ends behind the data";
        }
}

// Noise of few values has many equal pairs, and more runs the fewer values it has.
TEST_P(EveryKernel, CutsBySeqCdcWhereverASkipLands) {
  for (const unsigned largest : {1u, 2u, 6u, 255u}) {
    memory_.fill(random_bytes(memory_.size(), 6, static_cast<std::uint8_t>(largest)));
    for (std::size_t skip = 0; skip <= 200; ++skip)
      for (const std::size_t trigger : {1u, 2u, 7u, 31u, 64u, 65u})
        for (const std::size_t length : {2u, 3u, 4u, 5u, 6u})
          for (const std::size_t n : {memory_.size(), std::size_t{1000} + skip})
            for (const auto& slot : {&simd::Kernels::seqcdc_increasing, &simd::Kernels::seqcdc_decreasing}) {
              const std::uint8_t* const p = memory_.end() - n;
              const simd::SeqCdcParameters parameters = {64 + skip % 67, length, trigger, skip};
              ASSERT_EQ(kernel(slot)(p, n, parameters), (simd::kScalarKernels.*slot)(p, n, parameters))
                  << "values up to " << largest << ", skip " << skip << ", trigger " << trigger << ", length " << length
                  << ", n = " << n;
            }
  }
}

TEST_P(EveryKernel, MarksTheCandidatesOfGear) {
  marks_as_scalar(&simd::Kernels::gear, simd::kGearLookBackBytes,
                  {0xff00000000000000, 0xfff8000000000000, 0x8000000000000001, 0x0000100000010000, 0xff00, 1});
  marks_as_scalar(&simd::Kernels::gear32, simd::kGearLookBackBytes, {0xfff80000, 0xff000000, 0x80000001, 0xff00, 1});
  marks_as_scalar(&simd::Kernels::gear_low, simd::kGearLookBackBytes,
                  {0x7ff, 0x7fff, 0x3fffff, 0xff, 0x3, 0xfff8000000000000});
  marks_as_scalar(&simd::Kernels::gear16, simd::kGearLookBackBytes, {0xff00, 0xfff8, 0x0101, 0x7ff, 0xff, 1});
}
// The low byte of its table entry is zero: in a run of it every position passes a filter by the low bits of the hash.
TEST_P(EveryKernel, MarksTheCandidatesOfGearInRunsThatPassItsFilter) {
  ByteBuffer data = random_bytes(8192, 6);
  std::fill(data.begin() + 1000, data.begin() + 3100, std::uint8_t{0x1a});
  const std::size_t at = simd::kGearLookBackBytes, n = data.size() - at;
  for (const std::uint64_t mask : {0x1ffu, 0x7ffu, 0xffffu}) {
    std::vector<std::uint64_t> expected((n + 63) / 64), bits((n + 63) / 64);
    simd::kScalarKernels.gear_low(data.data() + at, n, mask, expected.data());

    kernel (&simd::Kernels::gear_low)(data.data() + at, n, mask, bits.data());

    ASSERT_EQ(bits, expected) << mask;
  }
}

TEST_P(EveryKernel, MarksTheCandidatesOfCrc) {
  marks_as_scalar(&simd::Kernels::crc, simd::kCrcLookBackBytes, {0x3f, 0x1fff, 0x80000001, 0xff0000});
}
TEST_P(EveryKernel, MarksTheCandidatesOfRabin) {
  marks_as_scalar(&simd::Kernels::rabin, simd::kRabinLookBackBytes,
                  {0x3f, 0x1fff, 0xfffff, 0x10000000000001, 0xff00000000});
}
TEST_P(EveryKernel, MarksTheCandidatesOfToga) {
  marks_as_scalar(&simd::Kernels::toga, simd::kTogaLookBackBytes, {0, 1, 5, 26, 128, 255, 256, 511});
}

// Long enough for the kernels that work on many stretches at once, which small ranges leave to other code.
TEST_P(EveryKernel, MarksTheCandidatesOfLongRanges) {
  constexpr std::size_t kLength = 300'000, kMax = 512;
  for (const auto& [name, data] : patterns(kMax + kLength, 5))
    for (const auto& [slot, mask] :
         std::initializer_list<std::pair<simd::CandidateScan * simd::Kernels::*, std::uint64_t>>{
             {&simd::Kernels::gear, 0xfff8000000000000},
             {&simd::Kernels::gear32, 0xfff80000},
             {&simd::Kernels::gear16, 0xfff8},
             {&simd::Kernels::gear_low, 0x1fff},
             {&simd::Kernels::crc, 0x1fff},
             {&simd::Kernels::rabin, 0x1fff},
             {&simd::Kernels::toga, 26}})
      for (const std::size_t n : {kLength, kLength - 1, std::size_t{131'072}, std::size_t{70'003}}) {
        std::vector<std::uint64_t> expected((n + 63) / 64), bits((n + 63) / 64);
        (simd::kScalarKernels.*slot)(data.data() + kMax, n, mask, expected.data());

        kernel(slot)(data.data() + kMax, n, mask, bits.data());

        ASSERT_EQ(bits, expected) << name << ", n = " << n << ", mask " << mask;
      }
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryKernel, testing::ValuesIn(available_isas()),
                         [](const auto& test) { return identifier(name_of(test.param)); });

}  // namespace
}  // namespace dedupfs
