// The column families of a volume's index. Their names are on disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dedupfs {

enum class Family : std::uint8_t {
  kFingerprints,  // fingerprint -> chunk id
  kChunks,        // first chunk id of an extent -> place of its region, lengths (ChunkIndex)
  kFeatureIndex,  // super-feature -> chunk id
  kInodes,        // inode number -> attributes
  kDirents,       // parent inode + name -> inode, type, cookie
  kCookies,       // parent inode + cookie -> name, inode, type: the order of readdir
  kXattrs,        // inode + name -> value
  kRecipes,       // inode + offset of the segment -> entries
  kOrphans,       // inode number -> nothing: unlinked, to be deleted when nobody has it open
  kCounters,      // name -> next ids and the like
  kSnapshots,     // number -> name, when it was made
  kBeforeImages,  // family, key, number of a snapshot -> the value of the key when the snapshot was made
};
inline constexpr std::size_t kFamilyCount = 12;
// Volumes from before the first release with snapshots have only the families above, until they are opened for writing.
inline constexpr std::size_t kFirstFamilyCount = 10;
std::string_view name_of(Family family);  // as RocksDB knows it: written to disk

}  // namespace dedupfs
