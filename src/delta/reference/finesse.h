// Finesse in plain code (Zhang, Xia, Feng, Jiang, Hua, Wang: "Finesse: fine-grained feature locality based fast resemblance
// detection for post-deduplication delta compression", FAST '19, section 3): one feature a sub-chunk, no transforms.
#pragma once

#include "delta/reference/feature_definition.h"
#include "delta/reference/rabin_windows.h"

namespace dedupfs::resemblance::reference {
namespace {

inline void finesse(const std::uint8_t* p, std::size_t n, std::uint64_t* features) {
  const std::size_t window_count = n - kRabinFeatureWindowBytes + 1;
  RabinWindows windows(p);
  const auto largest_of = [&](std::size_t count) {
    std::uint64_t largest = 0;
    for (; count > 0; --count) {
      const std::uint64_t fingerprint = windows.next();
      if (fingerprint > largest) largest = fingerprint;
    }
    return largest;
  };

  if (window_count < kSubChunks) {
    const std::uint64_t largest = largest_of(window_count);
    for (std::size_t k = 0; k < kSubChunks; ++k) features[k] = largest;
    return;
  }
  for (std::size_t k = 0; k < kSubChunks; ++k)
    features[k] = largest_of((k + 1) * window_count / kSubChunks - k * window_count / kSubChunks);
}

}  // namespace
}  // namespace dedupfs::resemblance::reference
