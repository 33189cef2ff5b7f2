// The offsets of the regions that an index refers to.
//
// Threads: one at a time to change it.
// Memory:  some bytes a region.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/result.h"
#include "index/record_source.h"
#include "store/chunks/chunk_index.h"

namespace dedupfs {

class RegionOffsets {
 public:
  // Passes over records that do not parse, and over records of missing containers.
  static Result<RegionOffsets> of(
      const RecordSource& index,
      const std::function<bool(std::uint32_t container)>& is_there = [](std::uint32_t) { return true; }) {
    RegionOffsets offsets;
    DEDUPFS_TRY(index.walk(Family::kChunks, [&](std::string_view key, std::string_view value) {
      if (const auto extent = decode_extent(key, value); extent && is_there(extent->place.container))
        offsets.by_container_[extent->place.container].push_back(extent->place.offset);
      return true;
    }));
    for (auto& [container, list] : offsets.by_container_) {
      std::ranges::sort(list);
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    return offsets;
  }

  // Ascending.
  const std::vector<std::uint32_t>& in(std::uint32_t container) const {
    static const std::vector<std::uint32_t> kNone;
    const auto found = by_container_.find(container);
    return found == by_container_.end() ? kNone : found->second;
  }

 private:
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_container_;
};

}  // namespace dedupfs
