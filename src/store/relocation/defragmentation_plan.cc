#include "store/relocation/defragmentation_plan.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "store/relocation/recently_used.h"

namespace dedupfs {
namespace {

// For whom a region was read, from then until it is dropped from the cache.
using Stay = std::vector<std::uint32_t>;

std::vector<Stay> read_along(const NeededOrder& needed, std::uint64_t cache_bytes) {
  std::vector<Stay> stays;
  RecentlyUsed<RegionPlace> cache(cache_bytes);
  std::unordered_map<RegionPlace, std::size_t> current;
  for (const auto& [at, wanted_for] : needed.reads) {
    const NeededChunk& chunk = needed.chunks[at];
    if (!cache.use(chunk.place, chunk.region_payload_bytes)) {
      current[chunk.place] = stays.size();
      stays.emplace_back();
    }
    Stay& stay = stays[current[chunk.place]];
    if (stay.empty() || stay.back() != wanted_for) stay.push_back(wanted_for);
  }
  for (Stay& stay : stays) {
    std::ranges::sort(stay);
    stay.erase(std::unique(stay.begin(), stay.end()), stay.end());
  }
  return stays;
}

// The savings of a reader if a chunk lay elsewhere: the chunk's share of each region that is read for it and others.
std::vector<double> shares_of(const std::vector<Stay>& stays, std::size_t chunks) {
  std::vector<double> shares(chunks);
  for (const Stay& stay : stays)
    for (const std::uint32_t at : stay) shares[at] += 1.0 / static_cast<double>(stay.size());
  return shares;
}

// Moving a chunk saves nothing if the region is read all the same. A source stays beside its own sources, too.
void drop_moves_in_vain(const NeededOrder& needed, const std::vector<Stay>& stays, std::vector<bool>& is_chosen) {
  const std::vector<bool> goes = is_chosen;
  const auto stay_put = [&](std::uint32_t at) {
    if (!needed.chunks[at].is_delta) is_chosen[at] = false;
  };
  for (const Stay& stay : stays)
    if (!std::ranges::all_of(stay, [&](std::uint32_t at) { return goes[at]; })) std::ranges::for_each(stay, stay_put);
  for (const auto& [at, wanted_for] : needed.reads)
    if (!goes[wanted_for]) stay_put(at);
}

}  // namespace

std::vector<std::uint32_t> plan_defragmentation(const NeededOrder& needed, const DefragmentationLimits& limits) {
  const std::vector<Stay> stays = read_along(needed, limits.cache_bytes);
  const std::vector<double> shares = shares_of(stays, needed.chunks.size());
  std::vector<std::pair<double, std::uint32_t>> worth;  // bytes for each read that is saved
  for (std::uint32_t at = 0; at < needed.chunks.size(); ++at) {
    const NeededChunk& chunk = needed.chunks[at];
    if (shares[at] == 0 || (!chunk.is_delta && chunk.place.container >= limits.end_container)) continue;
    if (const double bytes_for_a_read = chunk.raw_bytes / shares[at]; bytes_for_a_read < kMaxBytesPerRead)
      worth.emplace_back(bytes_for_a_read, at);
  }
  std::ranges::sort(worth);

  std::vector<bool> is_chosen(needed.chunks.size());
  std::uint64_t moved_bytes = 0;
  std::uint64_t grown_bytes = 0;
  for (const auto& [bytes_for_a_read, at] : worth) {
    const NeededChunk& chunk = needed.chunks[at];
    std::uint64_t& bytes = chunk.is_delta ? grown_bytes : moved_bytes;
    if (bytes + chunk.raw_bytes > (chunk.is_delta ? limits.grown_bytes : limits.moved_bytes)) continue;
    bytes += chunk.raw_bytes;
    is_chosen[at] = true;
  }
  drop_moves_in_vain(needed, stays, is_chosen);

  std::vector<std::uint32_t> chosen;
  for (std::uint32_t at = 0; at < is_chosen.size(); ++at)
    if (is_chosen[at]) chosen.push_back(at);
  return chosen;
}

}  // namespace dedupfs
