#include <algorithm>
#include <optional>
#include <vector>

#include "store/chunks/extent_finder.h"
#include "store/relocation/relocator.h"

namespace dedupfs {
namespace {

// The chunks of a region that the index has in it, in order of payload.
Result<std::vector<RegionEntry>> current_entries(RegionPlace place, std::vector<RegionEntry> entries,
                                                 PlaceFinder& extents) {
  std::optional<Error> error;
  std::erase_if(entries, [&](const RegionEntry& entry) {
    const auto extent = extents.find(entry.id);
    if (!extent) error = extent.error();
    return !extent || *extent == nullptr || (*extent)->place != place;
  });
  if (error) return *error;
  return entries;
}

// Within a group: a chunk that is pending now is still pending, or in the index, when it is moved.
Result<void> move_region(RegionPlace place, const Region& region, const std::vector<RegionEntry>& entries,
                         const RelocationParts& parts, RegionPacker& packer) {
  DEDUPFS_TRY(parts.ingest.check_movable());
  const Error busy{ErrorCode::kBusy, "a chunk of the container is being stored anew"};
  if (std::ranges::any_of(entries,
                          [&](const RegionEntry& entry) { return parts.pending.locate(entry.id).has_value(); }))
    return busy;
  PlaceFinder extents(parts.index);  // as they are now
  DEDUPFS_ASSIGN(const auto current, current_entries(place, entries, extents));
  for (const RegionEntry& entry : current)
    if (!packer.add_moved(entry, region.payload_of(entry))) return busy;
  return current.size() == entries.size() ? Result<void>() : busy;
}

Result<void> move_all(std::uint32_t container, std::uint64_t chunks, const RelocationParts& parts,
                      const InGroup& in_group) {
  const PackerPool::Lease packer(parts.ingest.moved_packers);
  DEDUPFS_ASSIGN(const ContainerWalk walk, parts.containers.walk(container));
  // A crash may have torn a region that nobody refers to. Only chunks that are missing in the end count.
  std::optional<Error> damage = walk.stopped_by;
  std::uint64_t moved = 0;
  PlaceFinder extents(parts.index);
  for (const auto& walked : walk.regions) {
    const RegionPlace place = walked.place;
    auto directory = parts.containers.read_directory(place);
    if (!directory) {
      damage = directory.error();
      continue;
    }
    DEDUPFS_ASSIGN(const auto entries, current_entries(place, std::move(*directory), extents));
    if (entries.empty()) continue;
    DEDUPFS_ASSIGN(const auto region,
                   parts.containers.read({place, static_cast<std::uint32_t>(walked.header.disk_length())}));
    DEDUPFS_TRY(in_group([&, region = region.get()] { return move_region(place, *region, entries, parts, *packer); }));
    moved += entries.size();
  }
  if (moved >= chunks) return {};
  return damage ? *damage : Error{ErrorCode::kBusy, "chunks of the container were stored anew"};
}

}  // namespace

Result<void> Relocator::evacuate(std::uint32_t container, std::uint64_t chunks, const InGroup& in_group) {
  if (chunks != 0) DEDUPFS_TRY(move_all(container, chunks, parts_, in_group));
  return in_group([&]() -> Result<void> {
    parts_.pending.abandon_container(container);
    return {};
  });
}

}  // namespace dedupfs
