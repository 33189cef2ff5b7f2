#include "store/chunks/pending_chunks.h"

#include <algorithm>

#include "base/check.h"
#include "store/chunks/extent_overlay.h"

namespace dedupfs {
namespace {

// A fingerprint may lead to another chunk with the same content by now.
Result<void> append_erased(const ErasedChunks& chunks, const Database& database, ExtentOverlay& extents,
                           Database::Batch& batch) {
  for (std::size_t i = 0; i < chunks.fingerprints.size(); ++i) {
    const std::string_view fingerprint = text_of(chunks.fingerprints[i].bytes);
    DEDUPFS_ASSIGN(const auto leads_to, database.get(Family::kFingerprints, fingerprint));
    if (leads_to == encode_chunk_id(ChunkId{number_of(chunks.first) + i}))
      batch.erase(Family::kFingerprints, fingerprint);
  }
  return extents.remove(chunks.first, chunks.fingerprints.size());
}

}  // namespace

std::optional<ChunkId> PendingChunks::find(const Fingerprint& fingerprint) const {
  const ReaderLock lock(mutex_);
  for (const Group* group : {&open_, &frozen_})
    if (const auto found = group->ids.find(fingerprint); found != group->ids.end()) return found->second;
  return std::nullopt;
}

std::optional<PendingChunks::Location> PendingChunks::locate(ChunkId id) const {
  const ReaderLock lock(mutex_);
  for (const Group* group : {&open_, &frozen_}) {
    const auto found = group->chunks.find(number_of(id));
    if (found == group->chunks.end()) continue;
    const Group::Chunk& chunk = found->second;
    return Location{chunk.region->region, chunk.entry, chunk.region->range.value_or(RegionRange{})};
  }
  return std::nullopt;
}

bool PendingChunks::contains(ChunkId id) const {
  const ReaderLock lock(mutex_);
  return open_.chunks.contains(number_of(id)) || frozen_.chunks.contains(number_of(id));
}

std::optional<ChunkId> PendingChunks::publish(const RegionEntry& entry, const std::shared_ptr<PendingRegion>& region) {
  const WriterLock lock(mutex_);
  if (const auto found = frozen_.ids.find(entry.fingerprint); found != frozen_.ids.end()) return found->second;
  const auto [found, is_new] = open_.ids.try_emplace(entry.fingerprint, entry.id);
  if (!is_new) return found->second;
  try {
    // Replaces a move of the chunk whose bytes were lost.
    open_.chunks.insert_or_assign(number_of(entry.id), Group::Chunk{region, entry});
  } catch (...) {  // a fingerprint that leads nowhere would make new content a reference to nothing
    open_.ids.erase(found);
    throw;
  }
  return std::nullopt;
}

bool PendingChunks::publish_moved(const RegionEntry& entry, const std::shared_ptr<PendingRegion>& region) {
  const WriterLock lock(mutex_);
  if (frozen_.chunks.contains(number_of(entry.id))) return false;
  return open_.chunks.emplace(number_of(entry.id), Group::Chunk{region, entry}).second;
}

void PendingChunks::erase(ErasedChunks chunks) {
  const WriterLock lock(mutex_);
  open_.erased.push_back(std::move(chunks));
}

void PendingChunks::abandon_container(std::uint32_t number) {
  const WriterLock lock(mutex_);
  open_.abandoned.push_back(number);
}

void PendingChunks::add_region(std::shared_ptr<PendingRegion> region) {
  const WriterLock lock(mutex_);
  open_.regions.push_back(std::move(region));
}

void PendingChunks::mark_written(PendingRegion& region, RegionPlace place, std::uint32_t disk_bytes) {
  const WriterLock lock(mutex_);
  region.range = RegionRange{place, disk_bytes};
  region.region.reset();
  for (auto* extents : {&region.extents, &region.moved, &region.renewed}) {
    for (ChunkExtent& extent : *extents) {
      extent.place = place;
      extent.region_disk_bytes = disk_bytes;
      extent.region_payload_bytes = region.used_bytes;
    }
  }
}

bool PendingChunks::all_written(const std::vector<std::shared_ptr<PendingRegion>>& regions) const {
  const ReaderLock lock(mutex_);
  return std::ranges::all_of(regions, [](const auto& region) { return region->range.has_value(); });
}

void PendingChunks::freeze() {
  const WriterLock lock(mutex_);
  DEDUPFS_CHECK(frozen_.chunks.empty());  // Volume::freeze() follows a commit
  std::swap(open_, frozen_);
}

// Runs without the lock, because it may take a while: the frozen group does not change any more.
Result<void> PendingChunks::append_frozen_to(Database::Batch& batch, const Database& database) const {
  const Group& frozen = frozen_for_its_owner();
  ExtentOverlay extents(database);
  for (const ErasedChunks& chunks : frozen.erased) DEDUPFS_TRY(append_erased(chunks, database, extents, batch));
  for (const auto& [fingerprint, id] : frozen.ids)
    batch.put(Family::kFingerprints, text_of(fingerprint.bytes), encode_chunk_id(id));
  for (const auto& region : frozen.regions) {
    DEDUPFS_CHECK(region->range.has_value());  // the commit has waited for it
    for (const ChunkExtent& extent : region->extents)
      batch.put(Family::kChunks, encode_extent_key(extent.first), encode_extent(extent));
    for (const ChunkExtent& extent : region->moved) DEDUPFS_TRY(extents.lay(extent));
  }
  // Comes after the moved chunks: if a chunk was moved and stored again, the latter counts.
  for (const auto& region : frozen.regions)
    for (const ChunkExtent& extent : region->renewed) DEDUPFS_TRY(extents.lay(extent));
  extents.append_to(batch);
  return {};
}

std::vector<ChunkId> PendingChunks::frozen_renewed() const {
  std::vector<ChunkId> ids;
  for (const auto& region : frozen_regions())
    for (const ChunkExtent& extent : region->renewed)
      for (std::size_t i = 0; i < extent.chunks.size(); ++i) ids.push_back(extent.id_of(i));
  return ids;
}

void PendingChunks::drop_frozen() {
  Group dropped;  // outlives the lock: freeing it takes a while
  const WriterLock lock(mutex_);
  std::swap(frozen_, dropped);
}

bool PendingChunks::open_is_empty() const {
  const ReaderLock lock(mutex_);
  return open_.chunks.empty() && open_.regions.empty() && open_.erased.empty() && open_.abandoned.empty();
}

std::size_t PendingChunks::open_bytes() const {
  static constexpr std::size_t kBytesPerChunk = 400;  // both map nodes, and the share of the region's run
  const ReaderLock lock(mutex_);
  return open_.chunks.size() * kBytesPerChunk;
}

}  // namespace dedupfs
