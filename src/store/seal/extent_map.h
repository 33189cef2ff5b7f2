// Which record has which stretch of a file's content. The last one written counts.
//
// Threads: the caller's; const functions from any number at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "store/seal/sealed_layout.h"

namespace dedupfs {

class ExtentMap {
 public:
  ExtentMap() = default;
  // Ascending, without overlaps.
  explicit ExtentMap(std::vector<SealedExtent> extents) : extents_(std::move(extents)) {}

  void put(const SealedExtent& extent);
  void cut(std::uint64_t size);  // forgets what lies behind

  const std::vector<SealedExtent>& all() const { return extents_; }
  // The parts of the extents in a range, in order.
  std::vector<SealedExtent> within(std::uint64_t begin, std::uint64_t end) const;

 private:
  std::vector<SealedExtent>::const_iterator first_behind(std::uint64_t offset) const {
    return std::ranges::upper_bound(extents_, offset, {}, &SealedExtent::end);
  }

  std::vector<SealedExtent> extents_;
};

}  // namespace dedupfs
