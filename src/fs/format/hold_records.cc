#include "fs/format/hold_records.h"

#include <algorithm>

#include "base/coding.h"

namespace dedupfs {
namespace {

constexpr std::uint8_t kHoldsVersion = 1;
constexpr std::uint8_t kUntilReleasedFlag = 1;
constexpr std::uint8_t kTimeVersion = 1;

}  // namespace

std::string encode_holds(const std::map<TreeNumber, SnapshotHold>& holds) {
  std::string stored;
  Encoder out(stored);
  out.u8(kHoldsVersion);
  for (const auto& [snapshot, hold] : holds) {
    out.varint(snapshot);
    out.u8(hold.until_released ? kUntilReleasedFlag : 0);
    out.signed_varint(hold.until_unix_seconds);
    out.varint(hold.until_volume_seconds);
  }
  return stored;
}

Result<std::map<TreeNumber, SnapshotHold>> decode_holds(std::string_view stored) {
  const Error damaged{ErrorCode::kCorruption, "index: the record of held snapshots does not parse"};
  std::map<TreeNumber, SnapshotHold> holds;
  Decoder in(stored);
  if (in.u8() != kHoldsVersion) return damaged;
  while (in.ok() && in.remaining() != 0) {
    const std::uint64_t number = in.varint();
    const std::uint8_t flags = in.u8();
    SnapshotHold hold{.until_released = (flags & kUntilReleasedFlag) != 0};
    hold.until_unix_seconds = in.signed_varint();
    hold.until_volume_seconds = in.varint();
    const bool is_in_order = holds.empty() || number > holds.rbegin()->first;
    if (number == kLiveTree || number >= kEndOfTrees || !is_in_order || (flags & ~kUntilReleasedFlag) != 0)
      return damaged;
    holds.emplace_hint(holds.end(), static_cast<TreeNumber>(number), hold);
  }
  if (!in.ok()) return damaged;
  return holds;
}

std::string encode_volume_time(const VolumeTimeRecord& record) {
  std::string stored;
  Encoder out(stored);
  out.u8(kTimeVersion);
  out.u64(record.seconds);
  out.bytes(record.boot.boot);
  out.u64(record.boot.seconds);
  return stored;
}

Result<VolumeTimeRecord> decode_volume_time(std::string_view stored) {
  Decoder in(stored);
  VolumeTimeRecord record;
  const std::uint8_t version = in.u8();
  record.seconds = in.u64();
  std::ranges::copy(in.bytes(record.boot.boot.size()), record.boot.boot.begin());
  record.boot.seconds = in.u64();
  if (!in.ok_at_end() || version != kTimeVersion || record.seconds > VolumeTimeRecord::kMaxSeconds)
    return Error{ErrorCode::kCorruption, "index: the record of the volume's time does not parse"};
  return record;
}

}  // namespace dedupfs
