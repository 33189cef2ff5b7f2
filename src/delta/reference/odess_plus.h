// Odess with sub-window parallel rolling (SWPR) in plain code (Xia, Pu, Zou, Shilane, Li, Zhang, Wang: "The design of fast
// and lightweight resemblance detection for efficient post-deduplication delta compression", ACM Transactions on Storage
// 19(3), 2023, sections 3.2 to 3.5).
#pragma once

#include "delta/feature_definition.h"
#include "delta/reference/smallest_transforms.h"

namespace dedupfs::resemblance::reference {
namespace {

// A window is eight sub-windows of four bytes. Each fingerprint follows from the one four bytes before it, and eight such
// steps shift a sub-window out; so four neighbours are independent of each other, and may be computed side by side.
inline void odess_plus(const std::uint8_t* p, std::size_t n, std::uint64_t* features) {
  SmallestTransforms sampled;
  std::uint32_t largest = 0;
  std::uint32_t fingerprints[4] = {};
  std::uint32_t word = 0;  // the last four bytes
  for (std::size_t i = 0; i < n; ++i) {
    word = word << 8 | p[i];
    std::uint32_t& fingerprint = fingerprints[i % 4];
    fingerprint = (fingerprint << 4) + word;
    if (i < kOdessPlusWindowBytes - 1) continue;
    if (fingerprint >= kBoundary) sampled.add(fingerprint);
    if (fingerprint > largest) largest = fingerprint;
  }
  if (sampled.empty()) sampled.add(largest);
  sampled.write(features);
}

}  // namespace
}  // namespace dedupfs::resemblance::reference
