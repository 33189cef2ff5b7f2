#include "fs/format/history_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/coding.h"

namespace dedupfs {
namespace {

constexpr std::uint8_t kSampleVersion = 1;
constexpr std::uint8_t kCountsFlag = 1;
constexpr std::uint8_t kRestoreFlag = 2;
constexpr std::uint64_t kSecondsOfAnHour = 3600;

std::uint64_t hours_of(const HistorySample& sample) {
  return static_cast<std::uint64_t>(sample.unix_seconds) / kSecondsOfAnHour;
}

}  // namespace

std::string hour_key_of(const HistorySample& sample) {
  return fmt::format("{}hour.{:03}", kHistoryPrefix, hours_of(sample) % kHourSlots);
}

std::string day_key_of(const HistorySample& sample) {
  return fmt::format("{}day.{:04}", kHistoryPrefix, hours_of(sample) / 24 % kDaySlots);
}

std::string encode_history_sample(const HistorySample& sample) {
  std::string stored;
  Encoder out(stored);
  out.u8(kSampleVersion);
  out.u8(static_cast<std::uint8_t>((sample.counts ? kCountsFlag : 0) | (sample.restore ? kRestoreFlag : 0)));
  out.varint(static_cast<std::uint64_t>(sample.unix_seconds));
  out.varint(sample.disk_bytes);
  if (sample.counts) {
    const HistorySample::Counts& counts = *sample.counts;
    for (const std::uint64_t count :
         {counts.files, counts.logical, counts.unique, counts.after_delta, counts.stored, counts.kept, counts.garbage})
      out.varint(count);
  }
  if (sample.restore) {
    out.varint(sample.restore->hard_disk);
    out.varint(sample.restore->ssd);
  }
  return stored;
}

Result<HistorySample> decode_history_sample(std::string_view key, std::string_view value) {
  Decoder in(value);
  HistorySample sample;
  const std::uint8_t version = in.u8();
  const std::uint8_t flags = in.u8();
  const std::uint64_t time = in.varint();
  sample.unix_seconds = static_cast<std::int64_t>(std::min<std::uint64_t>(time, HistorySample::kMaxUnixSeconds));
  sample.disk_bytes = in.varint();
  if ((flags & kCountsFlag) != 0) {
    HistorySample::Counts& counts = *(sample.counts = HistorySample::Counts{});
    for (std::uint64_t* const count : {&counts.files, &counts.logical, &counts.unique, &counts.after_delta,
                                       &counts.stored, &counts.kept, &counts.garbage})
      *count = in.varint();
  }
  if ((flags & kRestoreFlag) != 0) {
    HistorySample::RestoreSpeed& speed = *(sample.restore = HistorySample::RestoreSpeed{});
    speed.hard_disk = in.varint();
    speed.ssd = in.varint();
  }
  const bool is_valid = in.ok_at_end() && version == kSampleVersion && (flags & ~(kCountsFlag | kRestoreFlag)) == 0 &&
                        time <= HistorySample::kMaxUnixSeconds;
  if (!is_valid || (key != hour_key_of(sample) && key != day_key_of(sample)))
    return Error{ErrorCode::kCorruption,
                 fmt::format("index: the record {} does not parse", is_history_key(key) ? key : "of the history")};
  return sample;
}

}  // namespace dedupfs
