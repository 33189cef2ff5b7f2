// How near-duplicates are found and delta encoded, as the superblock says it and mkfs.dedupfs --delta takes it: "none", or
// METHOD or METHOD:KEY=VALUE,... as in "odess+:depth=8,neighbours=2,index=1g".
//
// Threads: values; free functions are safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dedupfs {

struct DeltaSettings {
  static constexpr std::uint8_t kDeepest = 16;
  static constexpr std::uint8_t kMaxNeighbours = 3;

  std::string method;  // of resemblance detection; empty: no deltas
  // The longest chain: chunks with this depth are no sources of further deltas. This bounds the cost of a read.
  std::uint8_t depth = 8;
  // Chunks on each side of the base, in the file it was found in, that make the source of a delta with it.
  std::uint8_t neighbours = 2;
  // About how much disk the index of super-features may take; the oldest chunks are forgotten first.
  std::uint64_t index_bytes = std::uint64_t{4} << 30;

  bool enabled() const { return !method.empty(); }
  bool operator==(const DeltaSettings&) const = default;
};

// kInvalidArgument with a message that lists the allowed values.
Result<DeltaSettings> parse_delta_settings(std::string_view text);
std::string format_delta_settings(const DeltaSettings& settings);

inline constexpr std::string_view kDefaultDeltaSettings = "odess+";

}  // namespace dedupfs
