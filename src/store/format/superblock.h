// The superblock: the identity and the settings of a volume. Written once by mkfs, as JSON with a checksum, in two copies.
// See docs/format.md, "Superblock".
//
// Threads: values; free functions are safe from any thread.
// Failure: kVersion for a newer format or an unknown incompatible feature (named), kUnsupported for a fingerprint or
//          compression that this build does not know, kCorruption when both copies are bad, kNotFound when the folder
//          is no volume.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/backing.h"
#include "base/result.h"
#include "codec/compression.h"
#include "delta/settings.h"
#include "store/format/format.h"

namespace dedupfs {

struct Superblock {
  std::uint32_t format_version = kFormatVersionWritten;
  std::vector<std::string> incompatible_features;  // a build that does not know one of them must not open the volume
  std::vector<std::string> read_only_features;     // ... must not write to it
  std::string uuid;                                // 8-4-4-4-12 hexadecimal digits
  std::string label;
  std::int64_t created_unix_seconds = 0;
  std::string chunker;  // canonical spec
  std::string fingerprint = "sha256";
  CompressionTiers compression;
  DeltaSettings delta;                       // of a volume that was made without: none
  std::uint32_t region_bytes = 512 << 10;    // payload before compression, at most (a larger chunk fills one alone)
  std::uint32_t container_bytes = 64 << 20;  // a container is sealed when it has reached this
};

std::string encode_superblock(const Superblock& superblock);
Result<Superblock> decode_superblock(std::string_view json);

Result<void> write_superblock(BackingFolder& volume, const Superblock& superblock);
// Takes the first copy that is whole; a damaged or missing first copy is logged.
Result<Superblock> read_superblock(BackingFolder& volume);
// The damage of either copy, also that they differ. Empty: no damage. kNotFound: a copy is missing; a crash of mkfs can cause
// that.
std::vector<Error> damage_of_superblocks(BackingFolder& volume);
// Makes the two copies of `volume` alike again, after the one that read_superblock() takes, byte for byte. Returns the name of
// the file that was written, if one was.
Result<std::optional<std::string>> repair_superblock(BackingFolder& volume);
// kVersion, and which, where the volume has a read-only feature that this build does not know: it may be read only.
Result<void> require_writable(const Superblock& superblock);

}  // namespace dedupfs
