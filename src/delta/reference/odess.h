// Odess in plain code (Zou, Deng, Xia, Shilane, Tan, Zhang, Wang: "Odess: speeding up resemblance detection for redundancy
// elimination by fast content-defined sampling", ICDE '21): N-Transform over a sample of the windows, which the content
// chooses, with the Gear hash in place of Rabin's.
#pragma once

#include "chunkers/kernels/gear_table.h"
#include "delta/reference/feature_definition.h"
#include "delta/reference/smallest_transforms.h"

namespace dedupfs::resemblance::reference {
namespace {

static_assert(kSampleMask >> kOdessWindowBytes == 0, "bit b of a Gear hash depends on b + 1 bytes");

template <class Visit>
void for_each_gear_hash(const std::uint8_t* p, std::size_t n, Visit visit) {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < kOdessWindowBytes - 1; ++i) hash = gear_step(hash, p[i]);
  for (std::size_t i = kOdessWindowBytes - 1; i < n; ++i) visit(hash = gear_step(hash, p[i]));
}

inline void odess(const std::uint8_t* p, std::size_t n, std::uint64_t* features) {
  SmallestTransforms smallest;
  for_each_gear_hash(p, n, [&](std::uint64_t hash) {
    if ((hash & kSampleMask) == 0) smallest.add(static_cast<std::uint32_t>(hash));
  });
  if (smallest.empty()) {
    std::uint32_t largest = 0;
    for_each_gear_hash(p, n, [&](std::uint64_t hash) {
      const auto fingerprint = static_cast<std::uint32_t>(hash);
      if (fingerprint > largest) largest = fingerprint;
    });
    smallest.add(largest);
  }
  smallest.write(features);
}

}  // namespace
}  // namespace dedupfs::resemblance::reference
