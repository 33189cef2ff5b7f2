// The samples of a volume's history, in Family::kCounters. See docs/format.md, "History".
//
// A sample stands under two keys: that of its hour and that of its day. Both kinds of keys are used again in turn, so a volume has
// at most kHourSlots + kDaySlots records, whatever the clock does.
//
// Threads: free functions, safe from any thread.
// Failure: decoding trusts nothing: kCorruption for a value that the encoder never writes, and for one under a key that is not its.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dedupfs {

inline constexpr std::string_view kHistoryPrefix = "history.";  // of all keys
inline constexpr std::string_view kEndOfHistory = "history/";   // behind all keys

struct HistorySample {
  static constexpr std::int64_t kMaxUnixSeconds = std::int64_t{1} << 40;

  // What a walk over the metadata counts (fs/statistics/statistics.h), in bytes but for the files.
  struct Counts {
    std::uint64_t files = 0;
    std::uint64_t logical = 0;
    std::uint64_t unique = 0;
    std::uint64_t after_delta = 0;
    std::uint64_t stored = 0;
    std::uint64_t kept = 0;  // content that only snapshots have, or that only deltas need
    std::uint64_t garbage = 0;

    bool operator==(const Counts&) const = default;
  };
  // How fast the newest files could be read with empty caches (store/relocation/restore_estimate.h), in bytes a second.
  struct RestoreSpeed {
    std::uint64_t hard_disk = 0;
    std::uint64_t ssd = 0;

    bool operator==(const RestoreSpeed&) const = default;
  };

  std::int64_t unix_seconds = 0;
  std::uint64_t disk_bytes = 0;
  std::optional<Counts> counts;         // none: there was no time to count
  std::optional<RestoreSpeed> restore;  // none: the same, or there were no files

  bool operator==(const HistorySample&) const = default;
};

inline constexpr std::uint64_t kHourSlots = 7 * 24;
inline constexpr std::uint64_t kDaySlots = 3653;  // ten years

std::string hour_key_of(const HistorySample& sample);  // "history.hour.007"
std::string day_key_of(const HistorySample& sample);   // "history.day.0042"
inline bool is_history_key(std::string_view key) {
  return key.starts_with(kHistoryPrefix);
}

std::string encode_history_sample(const HistorySample& sample);
Result<HistorySample> decode_history_sample(std::string_view key, std::string_view value);

}  // namespace dedupfs
