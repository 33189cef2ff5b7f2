// N-Transform in plain code (Shilane, Huang, Wallace, Hsu: "WAN optimized replication of backup datasets using
// stream-informed delta compression", FAST '12, section 3; the features are Broder's: "Identifying and filtering
// near-duplicate documents", CPM 2000). The window is that of the chunkers, the paper leaves it open.
#pragma once

#include "delta/reference/feature_definition.h"
#include "delta/reference/rabin_windows.h"

namespace dedupfs::resemblance::reference {
namespace {

inline void n_transform(const std::uint8_t* p, std::size_t n, std::uint64_t* features) {
  std::uint32_t largest[kFeatureCount] = {};
  RabinWindows windows(p);
  for (std::size_t i = kRabinFeatureWindowBytes - 1; i < n; ++i) {
    const auto fingerprint = static_cast<std::uint32_t>(windows.next());
    for (std::size_t k = 0; k < kFeatureCount; ++k) {
      const std::uint32_t transform = kTransforms.multiplier[k] * fingerprint + kTransforms.addend[k];
      if (transform > largest[k]) largest[k] = transform;
    }
  }
  for (std::size_t k = 0; k < kFeatureCount; ++k) features[k] = largest[k];
}

}  // namespace
}  // namespace dedupfs::resemblance::reference
