#include "chunkers/simd/dispatch.h"

#include <algorithm>
#include <array>
#include <vector>

namespace dedupfs::simd {
namespace {

// Stretches of noise with the bytes and runs that kernels have special cases for: zeros, a ramp, noise near the maximum.
using Sample = std::array<std::uint8_t, 24 << 10>;

Sample make_sample() {
  Sample sample{};
  std::uint64_t state = 0x9E3779B97F4A7C15;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    const auto noise = static_cast<std::uint8_t>(state >> 56);
    switch (i / 2048 % 6) {
      case 2: sample[i] = 0; break;
      case 3: sample[i] = static_cast<std::uint8_t>(i); break;
      case 4: sample[i] = noise < 4 ? 255 : 254; break;
      default: sample[i] = noise;
    }
  }
  return sample;
}

// The results of a kernel for the sample, as numbers that can be compared. One overload for each kind of kernel.
using Answers = std::vector<std::uint64_t>;

constexpr std::size_t kLengths[] = {1, 15, 16, 17, 63, 64, 65, 127, 255, 257, 1000, 4099, 8192};

Answers answers(ExtremeByte* kernel, ExtremeByte* Kernels::*, const Sample& sample) {
  Answers all;
  for (std::size_t at = 0; at + 8192 <= sample.size(); at += 1021)
    for (const std::size_t n : kLengths) all.push_back(kernel(sample.data() + at, n));
  return all;
}

Answers answers(RangeScan* kernel, RangeScan* Kernels::*, const Sample& sample) {
  Answers all;
  for (std::size_t at = 0; at + 8192 <= sample.size(); at += 1021)
    for (const std::size_t n : kLengths)
      for (const unsigned limit : {0u, 1u, 127u, 128u, 254u, 255u})
        all.push_back(kernel(sample.data() + at, n, static_cast<std::uint8_t>(limit)));
  return all;
}

// The chunks of a stream that a cutting kernel makes: cut(p, n) is the kernel with its parameters.
template <class Cut>
void follow(const Sample& sample, Cut cut, Answers& all) {
  for (std::size_t start = 0; start < sample.size();) {
    const std::size_t n = std::min<std::size_t>(sample.size() - start, 4000);
    const std::size_t length = cut(sample.data() + start, n);
    all.push_back(length);
    start += length == 0 ? n : length;
  }
}

Answers answers(WindowCut* kernel, WindowCut* Kernels::*, const Sample& sample) {
  Answers all;
  for (const std::size_t window : {64u, 65u, 127u, 200u, 513u, 1700u})
    follow(
        sample, [&](const std::uint8_t* p, std::size_t n) { return kernel(p, n, window); }, all);
  return all;
}

Answers answers(SeqCdcCut* kernel, SeqCdcCut* Kernels::*, const Sample& sample) {
  Answers all;
  for (const SeqCdcParameters& parameters : {SeqCdcParameters{64, 3, 10, 64}, {100, 5, 55, 256}, {64, 4, 3, 1}})
    follow(
        sample, [&](const std::uint8_t* p, std::size_t n) { return kernel(p, n, parameters); }, all);
  return all;
}

// Masks that every scan allows. Wider hashes also get masks of their upper bytes, which have vectors of their own.
std::vector<std::uint64_t> masks_for(CandidateScan* Kernels::*slot) {
  std::vector<std::uint64_t> masks = {0x1f, 0xff, 0x1fff, 0xf800};
  if (slot == &Kernels::gear32 || slot == &Kernels::crc) masks.insert(masks.end(), {0x1f0000, 0xff000000});
  if (slot == &Kernels::rabin) masks.insert(masks.end(), {0x1f0000, 0x1f000000, 0xff00000000, 0x1fe00000000000});
  if (slot == &Kernels::gear)
    for (int shift = 16; shift < 64; shift += 8) masks.push_back(std::uint64_t{0xff} << shift);
  return masks;
}

Answers answers(CandidateScan* kernel, CandidateScan* Kernels::*slot, const Sample& sample) {
  constexpr std::size_t kLookBack = 512;
  Answers all;
  for (const std::uint64_t mask : masks_for(slot))
    for (const std::size_t n : {std::size_t{1}, std::size_t{65}, std::size_t{1000}, sample.size() - kLookBack}) {
      Answers bits((n + 63) / 64, ~std::uint64_t{0});
      kernel(sample.data() + kLookBack, n, mask, bits.data());
      all.insert(all.end(), bits.begin(), bits.end());
    }
  return all;
}

}  // namespace

const Kernels& kernels_of(Isa isa) {
  static constexpr Kernels kNone = {};
  switch (isa) {
    case Isa::kScalar: return kScalarKernels;
#if defined(__x86_64__)
    case Isa::kSse41: return kSse41Kernels;
    case Isa::kAvx2: return kAvx2Kernels;
    case Isa::kAvx512: return kAvx512Kernels;
    case Isa::kAvx512Gather: return kAvx512GatherKernels;
#elif defined(__aarch64__)
    case Isa::kNeon: return kNeonKernels;
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
    case Isa::kVsx: return kVsxKernels;
#endif
    default: return kNone;
  }
}

template <class Kernel>
bool agrees(Kernel* kernel, Kernel* Kernels::*slot) {
  static const Sample kSample = make_sample();
  return answers(kernel, slot, kSample) == answers(kScalarKernels.*slot, slot, kSample);
}

template <class Kernel>
bool passes_self_test(Kernel* Kernels::*slot, Isa isa) {
  return passes_once(slot, isa, [&] { return agrees(kernels_of(isa).*slot, slot); });
}

template bool agrees(ExtremeByte*, ExtremeByte* Kernels::*);
template bool passes_self_test(ExtremeByte* Kernels::*, Isa);
template bool agrees(RangeScan*, RangeScan* Kernels::*);
template bool passes_self_test(RangeScan* Kernels::*, Isa);
template bool agrees(WindowCut*, WindowCut* Kernels::*);
template bool passes_self_test(WindowCut* Kernels::*, Isa);
template bool agrees(SeqCdcCut*, SeqCdcCut* Kernels::*);
template bool passes_self_test(SeqCdcCut* Kernels::*, Isa);
template bool agrees(CandidateScan*, CandidateScan* Kernels::*);
template bool passes_self_test(CandidateScan* Kernels::*, Isa);

}  // namespace dedupfs::simd
