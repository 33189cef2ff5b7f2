#include "fs/quotas/quotas.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/size.h"
#include "fs/format/mode.h"
#include "fs/format/records.h"
#include "fs/inodes/inode_record.h"
#include "fs/statistics/shared_space.h"
#include "fs/trees/committed_tree.h"
#include "fs/trees/inode_paths.h"
#include "index/commit_participant.h"
#include "index/entries.h"
#include "store/format/superblock_features.h"

namespace dedupfs {
namespace {

constexpr std::size_t kEntriesAPage = 1024;
constexpr std::uint64_t kBetweenQuestions = 256;
// What the record of an inode takes at most, more or less, when a tree is counted.
constexpr std::uint64_t kDiskBytesOfARecord = 150;
constexpr std::uint64_t kMemoryOfARecord = 250;          // in the open group
constexpr std::uint64_t kMemoryOfARecordInABatch = 300;  // that of the commit, and RocksDB's copy of it

Result<void> check_limits(const QuotaLimits& limits) {
  if (!limits.logical_bytes && !limits.stored_bytes && !limits.files)
    return Error{ErrorCode::kInvalidArgument, "a quota needs a limit"};
  for (const auto& limit : {limits.logical_bytes, limits.stored_bytes, limits.files})
    if (limit.value_or(0) > kMaxQuotaLimit) return Error{ErrorCode::kInvalidArgument, "a limit is too large"};
  return {};
}

// After a commit that failed in a way that passes, the group of the change stays.
Result<void> held(const Result<void>& synced) {
  if (synced || failure_of(synced.error().code()) == CommitFailure::kFinal) return synced;
  return synced.error().with("the change holds from now on, and is durable with the next commit that succeeds");
}

}  // namespace

void QuotaChanges::note(InodeNumber inode, const std::optional<std::string>& from,
                        const std::optional<std::string>& to) {
  using Sum = std::uint64_t QuotaAccount::RecordedChange::*;
  const auto add = [&](const std::optional<std::string>& value, Sum bytes, Sum files) {
    if (!value) return;
    const auto record = decode_inode(inode, *value);
    if (!record || record->quota == kNoQuota) return;
    QuotaAccount::RecordedChange& change = changes_[record->quota];
    change.*bytes = quota_sum(change.*bytes, record->attributes.data_bytes);
    ++(change.*files);
  };
  add(from, &QuotaAccount::RecordedChange::dropped_bytes, &QuotaAccount::RecordedChange::dropped_files);
  add(to, &QuotaAccount::RecordedChange::added_bytes, &QuotaAccount::RecordedChange::added_files);
}

Result<void> Quotas::set(InodeNumber directory, const QuotaLimits& limits, const GoOn& go_on, JobMeter* meter) {
  const MutexLock lock(mutex_);
  DEDUPFS_TRY(check_limits(limits));
  DEDUPFS_TRY(transactions_.check_writable(directory));
  if (ledger_.damage()) return *ledger_.damage();
  DEDUPFS_TRY(space_.admit_metadata());
  QuotaAccountPtr account = ledger_.find_of_directory(directory);
  if (account != nullptr) {
    {
      const Transactions::Change change(transactions_);
      account->set_limits(limits);
      ledger_.save();
    }
    DEDUPFS_TRY(held(transactions_.sync()));
  } else {
    DEDUPFS_ASSIGN(account, set_new(directory, limits, {go_on, meter}));
  }
  if (limits.stored_bytes) measure(account, go_on, meter);
  return {};
}

Result<QuotaAccountPtr> Quotas::set_new(InodeNumber directory, const QuotaLimits& limits, const Watch& watch) {
  DEDUPFS_TRY(check_can_have_quota(directory));
  // First: no build that cannot read the records may open the volume from now on.
  DEDUPFS_TRY(add_incompatible_feature(*volume_.folder(), kQuotasFeature));
  DEDUPFS_ASSIGN(QuotaAccountPtr account, ledger_.make(directory, limits));
  const auto count = [&]() -> Result<void> {
    ledger_.add(account);  // an inode that is evicted and loaded again finds its account there
    Result<void> counted = count_tree(directory, account, watch);
    // Records that name an account which is not in the ledger name none.
    if (!counted) ledger_.remove(*account);
    return counted;
  };
  const auto [synced, done] = transactions_.sync_with({.change = count});
  if (!done) return synced ? Error{ErrorCode::kBusy, "the volume is changing all the time"} : synced.error();
  DEDUPFS_TRY(*done);
  DEDUPFS_TRY(held(synced));
  return account;
}

Result<void> Quotas::check_can_have_quota(InodeNumber directory) {
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get_directory(directory));
  const MutexLock lock(inode->mutex);
  if (directory == kSnapshotsInode || inode->record.attributes.links == 0)
    return Error{ErrorCode::kInvalidArgument, "this directory cannot have a quota"};
  if (const QuotaAccount* const account = account_of(*inode))
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the directory is in the tree of inode {}, which has a quota; quotas do not nest",
                             account->directory())};
  return {};
}

Result<void> Quotas::visit_names(InodeNumber top, const Watch& watch, const VisitName& visit) const {
  std::uint64_t steps = 0;
  std::vector<InodeNumber> directories = {top};
  std::unordered_set<InodeNumber> seen = {top};
  while (!directories.empty()) {
    const InodeNumber directory = directories.back();
    directories.pop_back();
    const auto visit_entry = [&](const std::string& /*key*/, const std::string& value) -> Result<void> {
      if (++steps % kBetweenQuestions == 0) {
        if (watch.meter != nullptr) watch.meter->add(kBetweenQuestions);
        if (watch.go_on) DEDUPFS_TRY(watch.go_on());
      }
      DEDUPFS_ASSIGN(const CookieEntry entry, decode_cookie_entry(directory, value));
      DEDUPFS_TRY(visit(directory, entry));
      if (!is_directory(entry.type)) return {};
      // To count a loop of directories would never end.
      if (!seen.insert(entry.inode).second)
        return Error{ErrorCode::kCorruption,
                     fmt::format("directory {} is in the tree twice; unmount and run fsck.dedupfs -y", entry.inode)};
      directories.push_back(entry.inode);
      return {};
    };
    DEDUPFS_TRY(visit_entries(volume_.metadata(), Family::kCookies, encode_inode_key(directory),
                              encode_key_behind(directory), kEntriesAPage, visit_entry));
  }
  return {};
}

// A group that does not fit on the disk could never end, and neither could all later ones.
Result<void> Quotas::check_room_for_records(std::uint64_t count) {
  const std::uint64_t copies = volume_.snapshots().preservation() ? 2 : 1;
  const std::uint64_t disk_bytes = count * copies * kDiskBytesOfARecord;
  const std::uint64_t memory_bytes = count * (kMemoryOfARecord + copies * kMemoryOfARecordInABatch);
  const std::string what = fmt::format("counting the {} names of the tree takes up to", count);
  constexpr std::string_view kSmallerTrees = "or set quotas on directories in it";
  DEDUPFS_ASSIGN(const std::uint64_t room, space_.metadata_room());
  if (disk_bytes > room)
    return Error{ErrorCode::kNoSpace, fmt::format("{} {} on the disk below, which has {} left; make room there, {}",
                                                  what, human_size(disk_bytes), human_size(room), kSmallerTrees)};
  const std::uint64_t memory = spare_memory_();
  if (memory_bytes > memory)
    return Error{ErrorCode::kNoMemory, fmt::format("{} {} of memory, and {} are left; free some, {}", what,
                                                   human_size(memory_bytes), human_size(memory), kSmallerTrees)};
  return {};
}

// Finds out from the names alone whether the tree can be counted. So it fails before the first record changes.
Result<void> Quotas::check_tree(InodeNumber top, const Watch& watch) {
  DEDUPFS_TRY(check_can_have_quota(top));  // again: it may have moved
  std::unordered_set<InodeNumber> with_quota;
  for (const QuotaAccountPtr& account : ledger_.all()) with_quota.insert(account->directory());
  std::uint64_t count = 1;
  const auto check = [&](InodeNumber /*directory*/, const CookieEntry& entry) -> Result<void> {
    ++count;
    if (!with_quota.contains(entry.inode)) return {};
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("inode {} below the directory has a quota; quotas do not nest", entry.inode)};
  };
  DEDUPFS_TRY(visit_names(top, watch, check));
  if (watch.meter != nullptr) watch.meter->begin(count);
  return check_room_for_records(count);
}

// No operation is half done, and all content is stored. Only readers run beside it, and they change no record.
Result<void> Quotas::count_tree(InodeNumber top, const QuotaAccountPtr& account, const Watch& watch) {
  DEDUPFS_TRY(check_tree(top, watch));
  DEDUPFS_TRY(count_inode(top, account));
  DEDUPFS_TRY(visit_names(top, watch, [&](InodeNumber directory, const CookieEntry& entry) -> Result<void> {
    DEDUPFS_ASSIGN(const QuotaAccountPtr other, count_inode(entry.inode, account));
    if (other == nullptr) return {};
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' in directory {} is inode {}, which counts in the tree of inode {}: it had a name there "
                    "when that got its quota; put a copy in its place",
                    entry.name, directory, entry.inode, other->directory())};
  }));
  account->unmeasure();
  return {};
}

// Returns the account that counts the inode already, if it is another one.
Result<QuotaAccountPtr> Quotas::count_inode(InodeNumber number, const QuotaAccountPtr& account) {
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get(number));
  const MutexLock lock(inode->mutex);
  if (account_of(*inode) == account.get()) return nullptr;  // a file with several names
  if (account_of(*inode) != nullptr) return inode->quota.account;
  inode->quota = {.account = account};
  account->add_present_file();
  put_record(volume_.metadata(), *inode);
  return nullptr;
}

Result<void> Quotas::remove(InodeNumber directory) {
  const MutexLock lock(mutex_);
  DEDUPFS_TRY(transactions_.check_writable());
  if (ledger_.damage()) return *ledger_.damage();
  const QuotaAccountPtr account = ledger_.find_of_directory(directory);
  if (account == nullptr) return Error{ErrorCode::kNotFound, fmt::format("directory {} has no quota", directory)};
  {
    const Transactions::Change change(transactions_);
    ledger_.remove(*account);
    ledger_.save();
  }
  return held(transactions_.sync());
}

void Quotas::measure(const QuotaAccountPtr& account, const GoOn& go_on, JobMeter* meter) {
  const QuotaAccount::Measurement seen = account->begin_measurement();
  const MutexLock lock(measuring_mutex_);
  if (account->begin_measurement().changed_bytes < seen.changed_bytes) return;  // another thread has measured meanwhile
  measure_together({account}, {go_on, meter});
}

Result<void> Quotas::measure_all(const GoOn& go_on) {
  std::vector<QuotaAccountPtr> limited;
  for (const QuotaAccountPtr& account : ledger_.all())
    if (account->status().limits.stored_bytes) limited.push_back(account);
  if (!limited.empty()) {
    const MutexLock lock(measuring_mutex_);
    measure_together(limited, {go_on});
  }
  return go_on();
}

void Quotas::measure_together(const std::vector<QuotaAccountPtr>& accounts, const Watch& watch) {
  std::vector<InodeNumber> directories;
  std::vector<QuotaAccount::Measurement> begun;
  for (const QuotaAccountPtr& account : accounts) {
    directories.push_back(account->directory());
    begun.push_back(account->begin_measurement());
  }
  const auto shares = [&]() -> Result<std::vector<std::optional<Share>>> {
    DEDUPFS_TRY(transactions_.sync());
    return compute_tree_shares(volume_, directories, watch.go_on, watch.meter);
  }();
  const ErrorCode failure = shares ? ErrorCode() : shares.error().code();
  if (!shares && failure == ErrorCode::kInterrupted) return;  // whoever needs it measures again
  if (!shares && accounts.size() > 1 && (failure == ErrorCode::kNoMemory || failure == ErrorCode::kTooLarge)) {
    const auto middle = accounts.begin() + static_cast<std::ptrdiff_t>(accounts.size() / 2);
    measure_together({accounts.begin(), middle}, watch);
    return measure_together({middle, accounts.end()}, watch);
  }
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    const auto share = shares ? (*shares)[i] : std::nullopt;
    accounts[i]->end_measurement(begun[i], share ? std::optional(share->stored_bytes) : std::nullopt);
  }
  if (!shares)
    spdlog::warn("the stored bytes of trees with a quota could not be measured: {}", shares.error().message());
}

std::vector<QuotaStatus> Quotas::all() const {
  std::vector<QuotaStatus> all;
  for (const QuotaAccountPtr& account : ledger_.all()) all.push_back(account->status());
  return all;
}

Result<std::map<InodeNumber, std::string>> Quotas::paths() const {
  std::map<InodeNumber, std::string> found;
  const std::vector<QuotaAccountPtr> accounts = ledger_.all();
  if (accounts.empty()) return found;
  const CommittedTree tree = CommittedTree::live(std::make_shared<CommittedState>(volume_.database()));
  InodePaths paths(tree);
  for (const QuotaAccountPtr& account : accounts) paths.want(account->directory());
  DEDUPFS_TRY(paths.find());
  for (const QuotaAccountPtr& account : accounts)
    found.emplace(account->directory(), paths.path_of(account->directory()));
  return found;
}

std::optional<QuotaStatus> Quotas::of_inode(InodeNumber number) {
  if (ledger_.is_empty()) return std::nullopt;
  const Result<InodePtr> inode = table_.get(number);
  if (!inode) return std::nullopt;
  const MutexLock lock((*inode)->mutex);
  const QuotaAccount* const account = account_of(**inode);
  return account != nullptr ? std::optional(account->status()) : std::nullopt;
}

Result<bool> Quotas::is_counted(InodeNumber directory, const QuotaAccount& account) {
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get_directory(directory));
  const MutexLock lock(inode->mutex);
  return account_of(*inode) == &account;
}

void Quotas::restored(const QuotaChanges& changes) {
  for (const auto& [number, change] : changes.changes_)
    if (const QuotaAccountPtr account = ledger_.find(number)) account->change_recorded(change);
  for (const QuotaAccountPtr& account : ledger_.all()) {
    const InodeNumber directory = account->directory();
    const auto counted = is_counted(directory, *account);
    if (counted && *counted) continue;
    // The snapshot is older than the quota. So no record names it.
    ledger_.remove(*account);
    const auto count_again = [&]() -> Result<void> {
      DEDUPFS_TRY(counted);
      DEDUPFS_ASSIGN(const QuotaAccountPtr anew, ledger_.make(directory, account->status().limits));
      ledger_.add(anew);
      Result<void> done = count_tree(directory, anew, {nullptr});
      if (!done) ledger_.remove(*anew);
      return done;
    };
    if (const Result<void> done = count_again(); !done)
      spdlog::warn("the quota of inode {} is removed by the rollback: {}", directory, done.error().message());
  }
}

}  // namespace dedupfs
