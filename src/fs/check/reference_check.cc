#include "fs/check/reference_check.h"

#include <fmt/format.h>

namespace dedupfs {

void check_reference(InodeNumber inode, std::uint64_t offset, const RecipeEntry& entry, const ChunkTable& chunks,
                     CheckReport& report) {
  const auto length = chunks.length_of(entry.chunk);
  if (entry.chunk == kLostChunk)
    report.lost(inode, {offset, entry.length, "it was lost, and a repair could not bring it back"});
  else if (!length)
    report.lost(inode, {offset, entry.length, fmt::format("chunk {} is missing", number_of(entry.chunk))});
  else if (*length != entry.length)
    report.error(fmt::format("inode {} at {}: chunk {} has {} bytes, not {}", inode, offset, number_of(entry.chunk),
                             *length, entry.length));
  else if (const auto damaged = chunks.unreadable().find(number_of(entry.chunk)); damaged != chunks.unreadable().end())
    report.lost(inode,
                {offset, entry.length,
                 damaged->second.empty() ? fmt::format("chunk {} is a delta of a lost chunk", number_of(entry.chunk))
                                         : damaged->second});
}

}  // namespace dedupfs
