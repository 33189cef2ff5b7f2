#include "store/containers/region_cache.h"

#include <list>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/guarded.h"
#include "base/mutex.h"

namespace dedupfs {
namespace {

using RegionResult = Result<std::shared_ptr<const Region>>;

struct Entry {
  RegionPlace place;
  std::shared_ptr<const Region> region;
  std::size_t bytes = 0;
};

// One load, and everybody who waits for it.
struct Load {
  ConditionVariable ended;
  std::optional<RegionResult> result;  // set under the mutex of the cache, and never changed after that
};

std::size_t memory_of(const Region& region) {
  constexpr std::size_t kOverhead = 256;  // list and hash nodes, control block, rounding by the allocator
  return kOverhead + region.payload.capacity() + region.entries.capacity() * sizeof(RegionEntry);
}

}  // namespace

// One lock is enough: a hit holds it for a look-up in a hash table and a splice, once for some 256 KiB that are read.
struct RegionCache::State {
  // Returns the regions that were displaced. The caller releases them after the lock.
  std::list<Entry> insert(RegionPlace place, std::shared_ptr<const Region> region) DEDUPFS_REQUIRES(mutex);

  const std::size_t capacity_bytes;
  const Loader loader;

  CacheMeter meter;
  Mutex mutex;
  std::list<Entry> entries DEDUPFS_GUARDED_BY(mutex);  // most recently used first
  std::unordered_map<RegionPlace, std::list<Entry>::iterator> by_place DEDUPFS_GUARDED_BY(mutex);
  std::unordered_map<RegionPlace, std::shared_ptr<Load>> loads DEDUPFS_GUARDED_BY(mutex);
  std::size_t used_bytes DEDUPFS_GUARDED_BY(mutex) = 0;
};

RegionCache::RegionCache(std::size_t capacity_bytes, Loader loader)
    : state_(new State{.capacity_bytes = capacity_bytes, .loader = std::move(loader)}) {}

RegionCache::~RegionCache() = default;

RegionResult RegionCache::get(RegionRange range) {
  const RegionPlace place = range.place;
  std::shared_ptr<Load> load;
  {
    const MutexLock lock(state_->mutex);
    if (const auto found = state_->by_place.find(place); found != state_->by_place.end()) {
      state_->entries.splice(state_->entries.begin(), state_->entries, found->second);
      state_->meter.note(true);
      return found->second->region;
    }
    if (const auto found = state_->loads.find(place); found != state_->loads.end()) {
      load = found->second;
      state_->meter.note(true);
      load->ended.wait(state_->mutex, [&] { return load->result.has_value(); });
      return *load->result;
    }
    state_->meter.note(false);
    load = std::make_shared<Load>();
    state_->loads.emplace(place, load);
  }

  RegionResult loaded =
      guarded([&] { return state_->loader(range); });  // the waiting readers must get an answer in any case
  std::list<Entry> evicted;
  {
    const MutexLock lock(state_->mutex);
    if (loaded) {
      const auto keep = [&]() -> Result<void> {
        state_->mutex.assert_held();
        evicted = state_->insert(place, *loaded);
        return {};
      };
      static_cast<void>(guarded(keep));  // without memory for it, it is read again next time
    }
    load->result.emplace(std::move(loaded));
    state_->loads.erase(place);
  }
  load->ended.notify_all();
  return *load->result;
}

bool RegionCache::contains(RegionPlace place) const {
  const MutexLock lock(state_->mutex);
  return state_->by_place.contains(place) || state_->loads.contains(place);
}

void RegionCache::insert(RegionPlace place, std::shared_ptr<const Region> region) {
  std::list<Entry> evicted;
  const MutexLock lock(state_->mutex);
  evicted = state_->insert(place, std::move(region));
}

void RegionCache::clear() {
  std::list<Entry> removed;
  const MutexLock lock(state_->mutex);
  removed.swap(state_->entries);
  state_->by_place.clear();
  state_->used_bytes = 0;
}

std::size_t RegionCache::size_bytes() const {
  const MutexLock lock(state_->mutex);
  return state_->used_bytes;
}

CacheMeter::Reading RegionCache::meter_reading() const {
  return state_->meter.read();
}

std::list<Entry> RegionCache::State::insert(RegionPlace place, std::shared_ptr<const Region> region) {
  if (by_place.contains(place)) return {};
  const std::size_t bytes = memory_of(*region);
  std::list<Entry> added;
  added.push_front({place, std::move(region), bytes});
  by_place.emplace(place, added.begin());
  entries.splice(entries.begin(), added);
  used_bytes += bytes;

  auto first_evicted = entries.end();
  while (used_bytes > capacity_bytes) {
    --first_evicted;
    used_bytes -= first_evicted->bytes;
    by_place.erase(first_evicted->place);
  }
  std::list<Entry> evicted;
  evicted.splice(evicted.end(), entries, first_evicted, entries.end());
  return evicted;
}

}  // namespace dedupfs
