// The record of the trees with quotas, in Family::kCounters. See docs/format.md, "Quotas".
//
// Failure: decoding trusts nothing: kCorruption for a value that the encoder never writes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fs/format/types.h"

namespace dedupfs {

inline constexpr std::string_view kQuotasCounter = "quotas";
inline constexpr std::uint64_t kMaxQuotaLimit = INT64_MAX;
// The record of all quotas is written with each transaction group in which a sum changes.
inline constexpr std::size_t kMaxQuotas = 10'000;

// Sums of a damaged volume may be far too large. All who add something to one stop at what the record can hold.
inline std::uint64_t quota_sum(std::uint64_t sum, std::uint64_t added) {
  return std::min(kMaxQuotaLimit, std::min(sum, kMaxQuotaLimit) + std::min(added, kMaxQuotaLimit));
}

// Unset: no limit.
struct QuotaLimits {
  std::optional<std::uint64_t> logical_bytes;  // data of regular files without holes, as du counts
  std::optional<std::uint64_t> stored_bytes;   // of the chunks that its files need, each once
  std::optional<std::uint64_t> files;          // inodes of all types, with the directory of the quota

  bool operator==(const QuotaLimits&) const = default;
};

struct QuotaRecord {
  InodeNumber directory = 0;  // the top of the tree
  QuotaLimits limits;
  std::uint64_t logical_bytes = 0;  // the sum of all inodes with this quota, also of unlinked ones
  std::uint64_t files = 0;
  std::uint64_t stored_bytes = 0;      // as they were measured last
  std::uint64_t unmeasured_bytes = 0;  // written since; at most so many stored bytes have been added

  bool operator==(const QuotaRecord&) const = default;
};

struct QuotaRecords {
  QuotaNumber next = kNoQuota + 1;  // no quota has had this number or a greater one
  std::map<QuotaNumber, QuotaRecord> quotas;

  bool operator==(const QuotaRecords&) const = default;
};

std::string encode_quotas(const QuotaRecords& records);
Result<QuotaRecords> decode_quotas(std::string_view stored);

}  // namespace dedupfs
