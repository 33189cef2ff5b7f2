// The time that has passed in the life of a volume, at least, in seconds. The clock of the day has no part in it, so nobody makes it
// run faster by setting that clock. It counts what the boot clock (CLOCK_BOOTTIME) shows while the volume is open for writing, and
// also between two such times in the same boot of the machine. Time while the machine is off, and what a crash loses, is not
// counted. See docs/snapshots.md, "Holds".
//
// Threads:   const functions from any thread.
// Failure:   a record that does not parse is kCorruption; one from another boot, or a boot clock that runs back, counts nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "fs/format/hold_records.h"

namespace dedupfs {

BootTime read_boot_time();

// What the time of holds comes from. Tests have their own.
struct HoldClocks {
  std::function<BootTime()> boot = read_boot_time;
  std::function<std::int64_t()> unix_seconds;  // nothing: that of the system
};

class VolumeTime {
 public:
  // `stored`: what encoded() gave last; nothing: the volume has no such record yet.
  static Result<VolumeTime> load(const std::optional<std::string>& stored, std::function<BootTime()> clock);

  std::uint64_t seconds() const;
  std::string encoded() const;

 private:
  VolumeTime(std::uint64_t seconds, const BootTime& begun, std::function<BootTime()> clock)
      : seconds_(seconds), begun_(begun), clock_(std::move(clock)) {}
  std::uint64_t seconds_at(const BootTime& now) const;

  std::uint64_t seconds_;  // at `begun_`
  BootTime begun_;
  std::function<BootTime()> clock_;
};

}  // namespace dedupfs
