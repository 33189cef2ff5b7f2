#include "delta/simd/dispatch.h"

#include <array>
#include <vector>

#include "delta/reference/feature_definition.h"

namespace dedupfs::resemblance {
namespace {

// Noise, with ranges that kernels treat specially: ranges with no sampled window, and ranges in which every window is sampled.
using Sample = std::array<std::uint8_t, 16 << 10>;

Sample make_sample() {
  Sample sample{};
  std::uint64_t state = 0x9E3779B97F4A7C15;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    switch (i / 2048 % 4) {
      case 1: sample[i] = 0; break;
      case 2: sample[i] = static_cast<std::uint8_t>(i / 64); break;
      default: sample[i] = static_cast<std::uint8_t>(state >> 56);
    }
  }
  return sample;
}

std::vector<std::uint64_t> answers(ExtractFeatures* extract, const Sample& sample) {
  std::vector<std::uint64_t> all;
  for (const std::size_t n : {48u, 49u, 63u, 64u, 65u, 127u, 255u, 257u, 1000u, 4099u, 8192u}) {
    for (std::size_t at = 0; at + n <= sample.size(); at += 1021) {
      std::uint64_t features[kFeatureCount];
      extract(sample.data() + at, n, features);
      all.insert(all.end(), features, features + kFeatureCount);
    }
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
#elif defined(__aarch64__)
    case Isa::kNeon: return kNeonKernels;
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
    case Isa::kVsx: return kVsxKernels;
#endif
    default: return kNone;
  }
}

bool agrees(ExtractFeatures* kernel, ExtractFeatures* Kernels::*slot) {
  static const Sample kSample = make_sample();
  return answers(kernel, kSample) == answers(kScalarKernels.*slot, kSample);
}

// Tested before first use.
Choice choose(ExtractFeatures* Kernels::*slot, Isa widest) {
  return choose_kernel(slot, widest, kernels_of, [slot](Isa isa) {
    return passes_once(slot, isa, [&] { return agrees(kernels_of(isa).*slot, slot); });
  });
}

}  // namespace dedupfs::resemblance
