// AE, the asymmetric extremum (Zhang, Jiang, Feng, Xia, Fu, Huang, Zhou: "AE: an asymmetric extremum content defined
// chunking algorithm for fast and bandwidth-efficient data deduplication", INFOCOM '15, section III).
#pragma once

#include "chunkers/reference/range_scan.h"

namespace dedupfs::reference {
namespace {

// The target is the first byte that is more extreme than all before it and that no byte within `window` after it
// exceeds. The chunk ends in front of the byte `window` after the target. Above gives AE-Max, Below AE-Min.
template <class Comparison>
std::size_t ae(const std::uint8_t* p, std::size_t n, std::size_t window) {
  std::size_t target = 0;
  for (std::size_t i = 1; i < n; ++i) {
    if (Comparison::holds(p[i], p[target]))
      target = i;
    else if (i == target + window)
      return i;
  }
  return 0;
}

}  // namespace
}  // namespace dedupfs::reference
