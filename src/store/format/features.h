// Names of features that the superblock of a volume may get while it is in use. See docs/format.md, "Superblock".
#pragma once

#include <string_view>

namespace dedupfs {

// Read-only: held snapshots. A build that does not know them would delete them.
inline constexpr std::string_view kHoldsFeature = "holds";
// Incompatible: trees with quotas. A build that does not know them cannot read the records of inodes in such a tree.
inline constexpr std::string_view kQuotasFeature = "quotas";

// Incompatible: containers of which only a part is in the folder, the rest in a bucket (replica/evicted). Others would take them for lost.
inline constexpr std::string_view kEvictionFeature = "eviction";

// Incompatible: records of snapshots that have a UUID. A build that does not know them takes such records for damaged.
inline constexpr std::string_view kSnapshotUuidsFeature = "snapshot_uuids";

// Incompatible, and only in the clear part of the superblock: all else is sealed (store/seal/key_header.h).
inline constexpr std::string_view kEncryptionFeature = "encryption";

}  // namespace dedupfs
