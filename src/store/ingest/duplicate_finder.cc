#include "store/ingest/duplicate_finder.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "store/chunks/chunk_index.h"

namespace dedupfs {
namespace {

// Extents whose fingerprints are loaded when a duplicate is found: its own and those stored after it.
constexpr std::size_t kLoadedExtents = 6;
constexpr std::size_t kCachedFingerprints = 1 << 16;

}  // namespace

DuplicateFinder::DuplicateFinder(const Database& index, const ContainerStore& containers, const PendingChunks& pending,
                                 ChunkReader& reader)
    : index_(index), containers_(containers), pending_(pending), reader_(reader), cache_(kCachedFingerprints) {}

Result<std::optional<DuplicateFinder::Duplicate>> DuplicateFinder::find(const Fingerprint& fingerprint,
                                                                        Liveness::Lookup& lookup) {
  DEDUPFS_ASSIGN(const auto id, look_up(fingerprint, lookup));
  if (!id) return std::optional<Duplicate>();
  const Soundness soundness = soundness_of(*id);
  if (soundness == Soundness::kOtherContent) return std::optional<Duplicate>();
  return std::optional(Duplicate{*id, soundness == Soundness::kLost});
}

// If the chunk in one place is dead, another place may have its successor.
Result<std::optional<ChunkId>> DuplicateFinder::look_up(const Fingerprint& fingerprint, Liveness::Lookup& lookup) {
  const auto cached = cache_.find(fingerprint);
  cache_meter_.note(cached.has_value());
  if (cached && lookup.claim(*cached)) return cached;
  if (const auto id = pending_.find(fingerprint); id && lookup.claim(*id)) return id;
  DEDUPFS_ASSIGN(const auto value, index_.get(Family::kFingerprints, text_of(fingerprint.bytes)));
  if (!value) return std::optional<ChunkId>();
  // If the index leads nowhere, to a lost chunk or to other content, the chunk is not taken: it is stored instead.
  const auto id = decode_chunk_id(*value);
  if (!id || !lookup.claim(*id)) return std::optional<ChunkId>();
  return load_neighbourhood(*id, fingerprint) ? std::optional(*id) : std::nullopt;
}

// Whether a chunk that the index has can be read. Asks the disk only if there is a reason to think that it cannot. One with
// another content than its fingerprint says stays as it is, since deltas may have been made from that content.
DuplicateFinder::Soundness DuplicateFinder::soundness_of(ChunkId id) {
  if (!reader_.damaged().contains(id)) return Soundness::kSound;
  if (!reader_.get(id)) return reader_.can_be_made(id) ? Soundness::kOtherContent : Soundness::kLost;
  reader_.damaged().erase(id);
  return Soundness::kSound;
}

// Caches the fingerprints of the chunks around this one. Whether it is there and has this one.
bool DuplicateFinder::load_neighbourhood(ChunkId id, const Fingerprint& fingerprint) {
  const auto extent = find_extent(index_, id);
  if (!extent || !*extent) return false;
  const auto entries = index_.list(Family::kChunks, encode_extent_key((*extent)->first), {}, kLoadedExtents);
  if (!entries) return false;
  std::map<RegionPlace, std::vector<ChunkExtent>> extents;
  for (const auto& [key, value] : *entries)
    if (auto near = decode_extent(key, value)) extents[near->place].push_back(std::move(*near));
  bool is_found = false;
  for (const auto& [place, in_region] : extents) {
    auto directory = containers_.read_directory(place);
    if (!directory) {
      // The chunk is damaged, and what comes again heals it.
      if (place == (*extent)->place) reader_.damaged().insert(id);
      is_found = is_found || place == (*extent)->place;
      continue;
    }
    // The directory still has chunks that were erased or moved.
    std::erase_if(*directory, [&near_extents = in_region](const RegionEntry& entry) {
      return std::ranges::none_of(near_extents, [&](const ChunkExtent& near) { return near.contains(entry.id); });
    });
    is_found = is_found || std::ranges::any_of(*directory, [&](const RegionEntry& entry) {
                 return entry.id == id && entry.fingerprint == fingerprint;
               });
    cache_.insert(*directory);
  }
  return is_found;
}

}  // namespace dedupfs
