#include "fs/snapshots/volume_time.h"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <utility>

#include "store/format/container_format.h"

namespace dedupfs {
namespace {

// The time namespace of the machine (PROC_TIME_INIT_INO of the kernel).
constexpr ino_t kInitialTimeNamespace = 0xEFFFFFFA;
constexpr std::array<std::uint8_t, 16> kUnknownBoot{};

bool has_clock_of_the_machine() {
  struct stat info {};
  return ::stat("/proc/self/ns/time", &info) == 0 && info.st_ino == kInitialTimeNamespace;
}

std::array<std::uint8_t, 16> boot_id() {
  std::string text;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), text);
  return parse_uuid(text).value_or(kUnknownBoot);
}

}  // namespace

BootTime read_boot_time() {
  static const auto boot = has_clock_of_the_machine() ? boot_id() : kUnknownBoot;
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return {.boot = boot, .seconds = static_cast<std::uint64_t>(std::max<std::time_t>(time.tv_sec, 0))};
}

Result<VolumeTime> VolumeTime::load(const std::optional<std::string>& stored, std::function<BootTime()> clock) {
  const BootTime now = clock();
  VolumeTimeRecord record{.boot = now};
  if (stored) {
    DEDUPFS_ASSIGN(record, decode_volume_time(*stored));
  }
  const bool is_same_boot =
      record.boot.boot == now.boot && now.boot != kUnknownBoot && now.seconds >= record.boot.seconds;
  const std::uint64_t seconds = record.seconds + (is_same_boot ? now.seconds - record.boot.seconds : 0);
  return VolumeTime(std::min(seconds, VolumeTimeRecord::kMaxSeconds), now, std::move(clock));
}

std::uint64_t VolumeTime::seconds_at(const BootTime& now) const {
  return std::min(seconds_ + now.seconds - std::min(now.seconds, begun_.seconds), VolumeTimeRecord::kMaxSeconds);
}

std::uint64_t VolumeTime::seconds() const {
  return seconds_at(clock_());
}

std::string VolumeTime::encoded() const {
  const BootTime now = clock_();
  return encode_volume_time({.seconds = seconds_at(now), .boot = now});
}

}  // namespace dedupfs
