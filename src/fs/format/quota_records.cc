#include "fs/format/quota_records.h"

#include <limits>

#include "base/coding.h"

namespace dedupfs {
namespace {

constexpr std::uint8_t kQuotasVersion = 1;

// 0: no limit. A limit is stored plus 1.
void encode_limit(Encoder& out, const std::optional<std::uint64_t>& limit) {
  out.varint(limit ? *limit + 1 : 0);
}

bool decode_limit(Decoder& in, std::optional<std::uint64_t>& limit) {
  const std::uint64_t stored = in.varint();
  if (stored != 0) limit = stored - 1;
  return in.ok() && limit.value_or(0) <= kMaxQuotaLimit;
}

bool decode_quota_number(Decoder& in, QuotaNumber& number) {
  const std::uint64_t wide = in.varint();
  number = static_cast<QuotaNumber>(wide);
  return in.ok() && wide != kNoQuota && wide <= std::numeric_limits<QuotaNumber>::max();
}

}  // namespace

std::string encode_quotas(const QuotaRecords& records) {
  std::string stored;
  Encoder out(stored);
  out.u8(kQuotasVersion);
  out.varint(records.next);
  for (const auto& [number, quota] : records.quotas) {
    out.varint(number);
    out.varint(quota.directory);
    encode_limit(out, quota.limits.logical_bytes);
    encode_limit(out, quota.limits.stored_bytes);
    encode_limit(out, quota.limits.files);
    out.varint(quota.logical_bytes);
    out.varint(quota.files);
    out.varint(quota.stored_bytes);
    out.varint(quota.unmeasured_bytes);
  }
  return stored;
}

Result<QuotaRecords> decode_quotas(std::string_view stored) {
  const Error damaged{ErrorCode::kCorruption, "index: the record of quotas does not parse"};
  const Error too_many{ErrorCode::kCorruption,
                       "index: the record of quotas has more than " + std::to_string(kMaxQuotas) + " of them"};
  QuotaRecords records;
  Decoder in(stored);
  if (in.u8() != kQuotasVersion || !decode_quota_number(in, records.next)) return damaged;
  QuotaNumber last = kNoQuota;
  while (in.ok() && in.remaining() != 0) {
    if (records.quotas.size() == kMaxQuotas) return too_many;
    QuotaNumber number = kNoQuota;
    QuotaRecord quota;
    bool is_sound = decode_quota_number(in, number) && number > last && number < records.next;
    quota.directory = in.varint();
    is_sound = is_sound && quota.directory != 0 && quota.directory < kSnapshotsInode;
    for (auto* limit : {&quota.limits.logical_bytes, &quota.limits.stored_bytes, &quota.limits.files})
      is_sound = is_sound && decode_limit(in, *limit);
    for (auto* sum : {&quota.logical_bytes, &quota.files, &quota.stored_bytes, &quota.unmeasured_bytes})
      is_sound = (*sum = in.varint()) <= kMaxQuotaLimit && is_sound;
    if (!is_sound || !in.ok()) return damaged;
    last = number;
    records.quotas.emplace_hint(records.quotas.end(), number, quota);
  }
  if (!in.ok()) return damaged;
  return records;
}

}  // namespace dedupfs
