// Decoded regions, shared by all readers of a volume, under one cap of bytes. The least recently used go first.
//
// Threads: every function from any thread. The loader runs without a lock, in the thread that missed. If two readers miss the
//          same region at once, it is loaded once: the second reader waits for the result of the first, an error, too.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/meter.h"
#include "base/result.h"
#include "store/format/region.h"
#include "store/format/types.h"

namespace dedupfs {

class RegionCache {
 public:
  using Loader = std::function<Result<std::shared_ptr<const Region>>(RegionRange)>;

  RegionCache(std::size_t capacity_bytes, Loader loader);
  ~RegionCache();

  // From the cache, or loaded into it. A failed load is not cached: the next reader tries again.
  Result<std::shared_ptr<const Region>> get(RegionRange range);
  // True if it is there or being loaded: a prefetch would be in vain.
  bool contains(RegionPlace place) const;
  // Puts a region that was just written; the next reads of it cost nothing. One that is there already stays.
  void insert(RegionPlace place, std::shared_ptr<const Region> region);
  void clear();
  std::size_t size_bytes() const;  // of the cached regions; readers may hold more
  // Of get(). Waiting for a region that another reader loads is a hit.
  CacheMeter::Reading meter_reading() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dedupfs
