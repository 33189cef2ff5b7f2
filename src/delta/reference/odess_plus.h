// Odess with sub-window parallel rolling (SWPR) in plain code (Xia, Pu, Zou, Shilane, Li, Zhang, Wang: "The design of fast
// and lightweight resemblance detection for efficient post-deduplication delta compression", ACM Transactions on Storage
// 19(3), 2023, sections 3.2 to 3.5).
#pragma once

#include "delta/reference/feature_definition.h"
#include "delta/reference/smallest_transforms.h"

namespace dedupfs::resemblance::reference {
namespace {

// A window is eight sub-windows of four bytes. Each fingerprint follows from the one four bytes before it. Eight such
// steps shift a sub-window out. So four neighbours do not depend on each other, and can be computed side by side.
template <class Visit>
void for_each_swpr_fingerprint(const std::uint8_t* p, std::size_t n, Visit visit) {
  std::uint32_t fingerprints[4] = {};
  std::uint32_t word = 0;  // the last four bytes
  const auto next = [&](std::size_t i) {
    word = word << 8 | p[i];
    return fingerprints[i % 4] = (fingerprints[i % 4] << 4) + word;
  };
  for (std::size_t i = 0; i < kOdessPlusWindowBytes - 1; ++i) next(i);
  for (std::size_t i = kOdessPlusWindowBytes - 1; i < n; ++i) visit(next(i));
}

inline void odess_plus(const std::uint8_t* p, std::size_t n, std::uint64_t* features) {
  SmallestTransforms smallest;
  for_each_swpr_fingerprint(p, n, [&](std::uint32_t fingerprint) {
    if (fingerprint >= kBoundary) smallest.add(fingerprint);
  });
  if (smallest.empty()) {
    std::uint32_t largest = 0;
    for_each_swpr_fingerprint(p, n, [&](std::uint32_t fingerprint) {
      if (fingerprint > largest) largest = fingerprint;
    });
    smallest.add(largest);
  }
  smallest.write(features);
}

}  // namespace
}  // namespace dedupfs::resemblance::reference
