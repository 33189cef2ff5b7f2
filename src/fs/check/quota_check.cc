#include "fs/check/quota_check.h"

#include <fmt/format.h>

#include <optional>

#include "fs/format/mode.h"

namespace dedupfs {

Result<void> QuotaSums::read(const Database& database, CheckReport& report) {
  DEDUPFS_ASSIGN(const auto stored, database.get(Family::kCounters, kQuotasCounter));
  if (!stored) return {};
  auto records = decode_quotas(*stored);
  if (records)
    records_ = std::move(*records);
  else
    report.error(records.error().message());
  return {};
}

QuotaNumber QuotaSums::count(const InodeRecord& record) {
  const auto quota = records_.quotas.find(record.quota);
  if (quota == records_.quotas.end()) return kNoQuota;
  Sum& sum = sums_[record.quota];
  sum.logical_bytes = quota_sum(sum.logical_bytes, record.attributes.data_bytes);
  ++sum.files;
  if (quota->second.directory == record.attributes.inode && is_directory(record.attributes.mode))
    sum.counts_directory = true;
  return record.quota;
}

QuotaNumber QuotaSums::of_name(InodeNumber inode, QuotaNumber quota) const {
  const auto found = records_.quotas.find(quota);
  return found == records_.quotas.end() || found->second.directory == inode ? kNoQuota : quota;
}

void QuotaSums::check_sums(CheckReport& report) const {
  for (const auto& [number, quota] : records_.quotas) {
    const auto found = sums_.find(number);
    const Sum sum = found == sums_.end() ? Sum() : found->second;
    const std::string what = fmt::format("quota {} of inode {}", number, quota.directory);
    if (!sum.counts_directory) report.error(what + ": it does not count this directory");
    if (quota.logical_bytes != sum.logical_bytes)
      report.error(fmt::format("{}: {} bytes recorded, {} found", what, quota.logical_bytes, sum.logical_bytes));
    if (quota.files != sum.files)
      report.error(fmt::format("{}: {} files recorded, {} found", what, quota.files, sum.files));
  }
}

Result<QuotaRecords> find_quotas(const std::vector<const RecordSource*>& sources, bool has_quotas,
                                 const RepairLog& log) {
  bool is_newest = true;
  for (const RecordSource* source : sources) {
    std::optional<QuotaRecords> found;
    if (source != nullptr)
      DEDUPFS_TRY(source->walk(Family::kCounters, [&](std::string_view key, std::string_view value) {
        if (key != kQuotasCounter) return true;
        if (auto records = decode_quotas(value)) found = std::move(*records);
        return false;
      }));
    if (found && !is_newest) log.lost("the newest record of quotas is lost: look at them with dedupfs-quota list");
    if (found) return std::move(*found);
    is_newest = false;
  }
  if (has_quotas) log.lost("the record of quotas is lost: set them again with dedupfs-quota");
  return QuotaRecords();
}

}  // namespace dedupfs
