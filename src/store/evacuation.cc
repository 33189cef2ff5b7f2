#include "store/evacuation.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "store/chunk_reader.h"

namespace dedupfs {
namespace {

// The chunks of a region that the index has in it, in order of payload.
Result<std::vector<RegionEntry>> current_entries(RegionPlace place, std::vector<RegionEntry> entries,
                                                 const Database& index) {
  std::optional<ChunkRun> run;  // neighbours share it
  std::optional<Error> error;
  std::erase_if(entries, [&](const RegionEntry& entry) {
    if (!run || !run->contains(entry.id)) {
      auto found = find_run(index, entry.id);
      if (!found) error = found.error();
      run = found ? std::move(*found) : std::nullopt;
    }
    return !run || run->place != place;
  });
  if (error) return *error;
  return entries;
}

}  // namespace

Result<void> evacuate_container(std::uint32_t number, std::uint64_t chunks, const ContainerStore& containers,
                                const Database& index, RegionPacker& packer, const InGroup& in_group) {
  DEDUPFS_ASSIGN(const ContainerStore::Walk walk, containers.walk(number));
  // A crash may have torn what nobody refers to: only what is missed in the end counts.
  std::optional<Error> damage = walk.stopped_by;
  std::uint64_t moved = 0;
  for (const auto& [place, header] : walk.regions) {
    auto directory = containers.read_directory(place);
    if (!directory) {
      damage = directory.error();
      continue;
    }
    DEDUPFS_ASSIGN(const auto entries, current_entries(place, std::move(*directory), index));
    if (entries.empty()) continue;
    DEDUPFS_ASSIGN(const auto region, containers.read(place));
    DEDUPFS_TRY(in_group([&, region = region.get()]() -> Result<void> {
      for (const RegionEntry& entry : entries)
        if (!packer.add_moved(entry, region->payload_of(entry)))
          return Error{ErrorCode::kBusy, "a chunk of the container is being stored anew"};
      return {};
    }));
    moved += entries.size();
  }
  if (moved >= chunks) return {};
  return damage ? *damage : Error{ErrorCode::kBusy, "chunks of the container were stored anew"};
}

}  // namespace dedupfs
