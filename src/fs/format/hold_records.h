// The records of held snapshots and of the time of the volume, in Family::kCounters. See docs/format.md, "Counters".
//
// Failure: decoding trusts nothing: kCorruption for a value that the encoder never writes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/metadata/tree.h"

namespace dedupfs {

inline constexpr std::string_view kHoldsCounter = "snapshot_holds";
inline constexpr std::string_view kVolumeTimeCounter = "volume_time";

struct SnapshotHold {
  bool until_released = false;
  std::int64_t until_unix_seconds = 0;  // 0: no date
  std::uint64_t until_volume_seconds = 0;

  bool operator==(const SnapshotHold&) const = default;
};
std::string encode_holds(const std::map<TreeNumber, SnapshotHold>& holds);
Result<std::map<TreeNumber, SnapshotHold>> decode_holds(std::string_view stored);

struct BootTime {
  // Of the boot that `seconds` counts from. All zeros: not known, or the process has a boot clock of its own (time_namespaces(7)),
  // which cannot be compared with that of others.
  std::array<std::uint8_t, 16> boot{};
  std::uint64_t seconds = 0;

  bool operator==(const BootTime&) const = default;
};

// The time of the volume (fs/snapshots/volume_time.h), and the boot clock at that time.
struct VolumeTimeRecord {
  static constexpr std::uint64_t kMaxSeconds = std::uint64_t{1} << 40;  // more than any volume lives

  std::uint64_t seconds = 0;
  BootTime boot;

  bool operator==(const VolumeTimeRecord&) const = default;
};
std::string encode_volume_time(const VolumeTimeRecord& record);
Result<VolumeTimeRecord> decode_volume_time(std::string_view stored);

}  // namespace dedupfs
