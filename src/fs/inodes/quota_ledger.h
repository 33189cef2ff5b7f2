// The accounts of all quotas of a volume, by their numbers.
//
// Threads:   every function from any thread. load(), add() and remove() one at a time.
// Ownership: shares the accounts with the inodes that they count. The metadata must outlive it.
// Failure:   if the record is damaged, no quota holds (damage()). Records of inodes keep what they say about theirs. If it could not be
//            read otherwise, nobody may go on (check_readable()).
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "fs/inodes/quota_account.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

using QuotaAccountPtr = std::shared_ptr<QuotaAccount>;

class QuotaLedger {
 public:
  explicit QuotaLedger(Metadata& metadata);

  // The reason why quotas are unknown, and none can be set. Nothing: they are known.
  const std::optional<Error>& damage() const { return damage_; }
  // An Error if the record may be whole: another attempt to read it may succeed.
  Result<void> check_readable() const;
  // Whether there is any quota. It costs next to nothing.
  bool is_empty() const { return is_empty_; }

  QuotaAccountPtr find(QuotaNumber number) const;  // null for a number that no quota has
  QuotaAccountPtr find_of_directory(InodeNumber directory) const;
  std::vector<QuotaAccountPtr> all() const;

  // A new account, which is not among the others until add(). kTooLarge if there are as many as there may be, or no number is left.
  Result<QuotaAccountPtr> make(InodeNumber directory, const QuotaLimits& limits);
  void add(const QuotaAccountPtr& account);
  void remove(QuotaAccount& account);

  // Puts the record into the open group, if it changed.
  void save();

 private:
  Metadata& metadata_;
  std::optional<Error> damage_;
  std::atomic<bool> is_empty_{true};
  mutable Mutex mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::leaves);
  QuotaNumber next_ DEDUPFS_GUARDED_BY(mutex_) = kNoQuota + 1;
  std::map<QuotaNumber, QuotaAccountPtr> accounts_ DEDUPFS_GUARDED_BY(mutex_);
  std::string saved_ DEDUPFS_GUARDED_BY(mutex_);
};

}  // namespace dedupfs
