#include "fs/inodes/quota_ledger.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace dedupfs {

QuotaLedger::QuotaLedger(Metadata& metadata) : metadata_(metadata) {
  const MutexLock lock(mutex_);  // nobody else has it; the analysis cannot know
  const auto load = [&]() DEDUPFS_REQUIRES(mutex_) -> Result<void> {
    DEDUPFS_ASSIGN(const auto stored, metadata_.get(Family::kCounters, kQuotasCounter));
    if (!stored) return {};
    DEDUPFS_ASSIGN(const QuotaRecords records, decode_quotas(*stored));
    next_ = records.next;
    for (const auto& [number, record] : records.quotas)
      accounts_.emplace(number, std::make_shared<QuotaAccount>(number, record));
    saved_ = *stored;
    return {};
  };
  if (const auto loaded = load(); !loaded) {
    damage_ = loaded.error();
    if (check_readable())
      spdlog::error("{}; no quota holds until fsck.dedupfs -y has repaired it", loaded.error().message());
  }
  is_empty_ = accounts_.empty();
}

Result<void> QuotaLedger::check_readable() const {
  return damage_ && damage_->code() != ErrorCode::kCorruption ? Result<void>(damage_->with("reading the quotas"))
                                                              : Result<void>();
}

QuotaAccountPtr QuotaLedger::find(QuotaNumber number) const {
  if (number == kNoQuota || is_empty_) return nullptr;
  const MutexLock lock(mutex_);
  const auto found = accounts_.find(number);
  return found == accounts_.end() ? nullptr : found->second;
}

QuotaAccountPtr QuotaLedger::find_of_directory(InodeNumber directory) const {
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find_if(
      accounts_, [directory](const auto& account) { return account.second->directory() == directory; });
  return found == accounts_.end() ? nullptr : found->second;
}

std::vector<QuotaAccountPtr> QuotaLedger::all() const {
  const MutexLock lock(mutex_);
  std::vector<QuotaAccountPtr> all;
  for (const auto& [number, account] : accounts_) all.push_back(account);
  return all;
}

Result<QuotaAccountPtr> QuotaLedger::make(InodeNumber directory, const QuotaLimits& limits) {
  const MutexLock lock(mutex_);
  if (accounts_.size() >= kMaxQuotas)
    return Error{ErrorCode::kTooLarge,
                 fmt::format("there are {} quotas, remove some first: dedupfs-quota remove", kMaxQuotas)};
  if (next_ == std::numeric_limits<QuotaNumber>::max())
    return Error{ErrorCode::kTooLarge, "no more quotas can be made"};
  return std::make_shared<QuotaAccount>(next_++, QuotaRecord{.directory = directory, .limits = limits});
}

void QuotaLedger::add(const QuotaAccountPtr& account) {
  const MutexLock lock(mutex_);
  accounts_.emplace(account->number(), account);
  is_empty_ = false;
}

void QuotaLedger::remove(QuotaAccount& account) {
  account.remove();
  const MutexLock lock(mutex_);
  accounts_.erase(account.number());
  is_empty_ = accounts_.empty();
}

void QuotaLedger::save() {
  const MutexLock lock(mutex_);
  if (next_ == kNoQuota + 1) return;  // a volume that never had a quota
  QuotaRecords records{.next = next_, .quotas = {}};
  for (const auto& [number, account] : accounts_) records.quotas.emplace(number, account->record());
  std::string now = encode_quotas(records);
  if (now == saved_) return;
  metadata_.put(Family::kCounters, kQuotasCounter, now);
  saved_ = std::move(now);
}

}  // namespace dedupfs
