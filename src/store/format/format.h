// Every magic number, version, tag, size and limit of the files in a volume. docs/format.md describes the files. These values are
// on disks of users: never change or reuse one, only add. The numbers of codecs are in codec/codec.h: PayloadEncoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dedupfs {

// --- Superblock ---
inline constexpr std::string_view kSuperblockMagic = "dedupfs volume";
inline constexpr std::uint32_t kFormatVersionWritten = 1;
inline constexpr std::uint32_t kFormatVersionOldestRead = 1;

inline constexpr std::uint64_t kMaxSuperblockBytes = 64 << 10;
inline constexpr std::string_view kSuperblockFile = "superblock.json";
inline constexpr std::string_view kSuperblockCopyFile = "superblock.copy.json";
inline constexpr std::string_view kLockFile = "lock";
inline constexpr std::string_view kIndexDirectory = "index";
inline constexpr std::string_view kContainersDirectory = "containers";
inline constexpr std::string_view kControlSocket = "control.sock";

inline constexpr std::uint32_t kMinRegionBytes = 4 << 10;
inline constexpr std::uint32_t kMinContainerBytes = 64 << 10;
inline constexpr std::uint32_t kMaxContainerBytes = 2u << 30;  // offsets in a container have 32 bits

// --- Container ---
inline constexpr std::string_view kContainerSuffix = ".container";  // of the file name, behind ten decimal digits
inline constexpr std::uint64_t kContainerMagic = 0x31'52'54'4e'43'50'44'44;  // "DDPCNTR1"
inline constexpr std::uint64_t kTrailerMagic = 0x31'4c'52'54'43'50'44'44;    // "DDPCTRL1"
inline constexpr std::uint16_t kContainerVersionWritten = 1;
inline constexpr std::uint16_t kContainerVersionOldestRead = 1;
inline constexpr std::size_t kContainerHeaderBytes = 64;
inline constexpr std::size_t kContainerTrailerBytes = 64;

// How the regions of a container are compressed; see docs/settling.md.
enum class ContainerTier : std::uint8_t {
  kSettled = 0,  // for good; also in volumes that were written by builds without tiers
  kLanded = 1,   // quickly, to be settled later
};
inline constexpr std::size_t kContainerTiers = 2;

// --- Region ---
inline constexpr std::uint64_t kRegionMagic = 0x31'4e'47'52'43'50'44'44;  // "DDPCRGN1"
inline constexpr std::uint16_t kRegionVersionWritten = 1;
inline constexpr std::uint16_t kRegionVersionOldestRead = 1;
inline constexpr std::size_t kRegionHeaderBytes = 64;
// No valid region has a longer directory or payload, whatever its header says.
inline constexpr std::uint32_t kMaxRegionPayloadBytes = 4 << 20;
inline constexpr std::uint32_t kMaxRegionDirectoryBytes = 1 << 20;
// No chunk is longer, whether its payload is the chunk itself or a delta.
inline constexpr std::uint32_t kMaxChunkBytes = kMaxRegionPayloadBytes;

enum class ChunkEncoding : std::uint8_t {
  kRaw = 0,    // the chunk's bytes
  kDelta = 1,  // VCDIFF against other chunks
};

// --- Checkpoint ---
inline constexpr std::string_view kCheckpointsDirectory = "checkpoints";
inline constexpr std::string_view kCheckpointSuffix = ".checkpoint";  // of the file name, behind ten decimal digits
inline constexpr std::uint64_t kCheckpointMagic = 0x31'54'50'4b'43'50'44'44;  // "DDPCKPT1"
inline constexpr std::uint16_t kCheckpointVersionWritten = 1;
inline constexpr std::uint16_t kCheckpointVersionOldestRead = 1;
inline constexpr std::size_t kCheckpointHeaderBytes = 64;
inline constexpr std::size_t kCheckpointBlockHeaderBytes = 32;
inline constexpr std::uint32_t kMaxCheckpointBlockBytes = 16 << 20;  // decompressed

// Containers of which most lies in a bucket only (replica/eviction). Disks that know of them show them among the others, and hide this one.
inline constexpr std::string_view kEvictedDirectory = "evicted";

// --- Deltas ---
inline constexpr std::string_view kDeltaFeature = "delta";  // of the superblock, where chunks may be deltas
inline constexpr std::size_t kMaxDeltaSources = 8;
// A delta's sources are less deep than itself, raw chunks have depth 0: so there is no cycle, and an end to recursion.
inline constexpr std::uint8_t kDeepestDelta = 16;
// No delta makes a longer chunk, or has longer sources in sum.
inline constexpr std::uint32_t kMaxDeltaChunkBytes = 1 << 20;
inline constexpr std::uint32_t kMaxDeltaSourceBytes = 8 << 20;

}  // namespace dedupfs
