#include "fs/snapshots/volume_time.h"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <utility>

namespace dedupfs {
namespace {

// The time namespace of the machine (PROC_TIME_INIT_INO of the kernel).
constexpr ino_t kInitialTimeNamespace = 0xEFFFFFFA;
constexpr std::array<std::uint8_t, 16> kUnknownBoot{};

bool has_clock_of_the_machine() {
  struct stat info {};
  return ::stat("/proc/self/ns/time", &info) == 0 && info.st_ino == kInitialTimeNamespace;
}

std::uint8_t digit_of(char c) {
  return static_cast<std::uint8_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

// Without its dashes, a UUID has 32 digits.
std::array<std::uint8_t, 16> boot_id() {
  std::string text;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), text);
  std::erase(text, '-');
  if (text.size() != 32 || text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) return kUnknownBoot;
  std::array<std::uint8_t, 16> id{};
  for (std::size_t i = 0; i < id.size(); ++i)
    id[i] = static_cast<std::uint8_t>(digit_of(text[2 * i]) << 4 | digit_of(text[2 * i + 1]));
  return id;
}

}  // namespace

BootTime read_boot_time() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return {.boot = has_clock_of_the_machine() ? boot_id() : kUnknownBoot,
          .seconds = static_cast<std::uint64_t>(std::max<std::time_t>(time.tv_sec, 0))};
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
