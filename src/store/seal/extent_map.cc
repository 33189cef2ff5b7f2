#include "store/seal/extent_map.h"

namespace dedupfs {

void ExtentMap::put(const SealedExtent& extent) {
  if (extents_.empty() || extent.begin >= extents_.back().end) {  // nearly always: files are appended to
    extents_.push_back(extent);
    return;
  }
  extents_.reserve(extents_.size() + 2);  // so that nothing is lost for lack of memory below
  const auto first = extents_.begin() + (first_behind(extent.begin) - extents_.cbegin());
  auto last = first;
  std::vector<SealedExtent> instead;
  instead.reserve(3);
  if (first != extents_.end() && first->begin < extent.begin) {
    instead.push_back(*first);
    instead.back().end = extent.begin;
  }
  instead.push_back(extent);
  for (; last != extents_.end() && last->begin < extent.end; ++last) {
    if (last->end <= extent.end) continue;
    instead.push_back(*last);
    instead.back().begin = extent.end;
  }
  const auto at = extents_.erase(first, last);
  extents_.insert(at, instead.begin(), instead.end());
}

void ExtentMap::cut(std::uint64_t size) {
  while (!extents_.empty() && extents_.back().begin >= size) extents_.pop_back();
  if (!extents_.empty()) extents_.back().end = std::min(extents_.back().end, size);
}

std::vector<SealedExtent> ExtentMap::within(std::uint64_t begin, std::uint64_t end) const {
  std::vector<SealedExtent> parts;
  for (auto extent = first_behind(begin); extent != extents_.end() && extent->begin < end; ++extent) {
    parts.push_back(*extent);
    parts.back().begin = std::max(parts.back().begin, begin);
    parts.back().end = std::min(parts.back().end, end);
  }
  return parts;
}

}  // namespace dedupfs
