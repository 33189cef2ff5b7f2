// The smallest of each transform over some fingerprints: the features of odess and odess+.
#pragma once

#include "delta/reference/feature_definition.h"

namespace dedupfs::resemblance::reference {
namespace {

// The paper's algorithm starts with features of 0 and replaces those that are >= a transform. They would stay 0. The paper must
// mean the smallest.
class SmallestTransforms {
 public:
  void add(std::uint32_t fingerprint) {
    for (std::size_t k = 0; k < kFeatureCount; ++k) {
      const std::uint32_t transform = kTransforms.multiplier[k] * fingerprint + kTransforms.addend[k];
      if (transform < smallest_[k]) smallest_[k] = transform;
    }
    empty_ = false;
  }

  bool empty() const { return empty_; }

  void write(std::uint64_t* features) const {
    for (std::size_t k = 0; k < kFeatureCount; ++k) features[k] = smallest_[k];
  }

 private:
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  std::uint32_t smallest_[kFeatureCount] = {kNone, kNone, kNone, kNone, kNone, kNone,
                                            kNone, kNone, kNone, kNone, kNone, kNone};
  bool empty_ = true;
};

}  // namespace
}  // namespace dedupfs::resemblance::reference
