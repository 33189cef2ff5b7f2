#include "fs/inodes/quota_guard.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "fs/inodes/inode_record.h"

namespace dedupfs {
namespace {

constexpr std::chrono::milliseconds kLookInterval{5};
constexpr std::chrono::seconds kLongestWait{5};

}  // namespace

QuotaReservation::~QuotaReservation() {
  if (account_ == nullptr) return;
  {
    const MutexLock lock(inode_->mutex);
    settle_charge(*inode_);
  }
  account_->change_charge(bytes_, 0);
}

QuotaAccountPtr QuotaGuard::account_of_inode(Inode& inode) const {
  if (quotas_.is_empty()) return nullptr;
  const MutexLock lock(inode.mutex);
  return account_of(inode) != nullptr ? inode.quota.account : nullptr;
}

// The kernel tells of a deleted file's last holder a moment after unlink(2) has returned. So it waits once at least.
void QuotaGuard::admit(Inode& inode, std::uint64_t bytes) {
  const QuotaAccountPtr account = account_of_inode(inode);
  const QuotaAccount::Addition addition{.logical_bytes = bytes, .written_bytes = bytes};
  if (account == nullptr || account->has_room_for(addition)) return;
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  do {
    transactions_.request_clean_up();
    std::this_thread::sleep_for(kLookInterval);
  } while (!account->has_room_for(addition) && !orphans_.are_gone(orphans_.pushed()) &&
           std::chrono::steady_clock::now() < end);
  if (account->needs_measurement(bytes)) measure_(account);
}

Result<void> QuotaGuard::check_room(Inode& inode, std::uint64_t bytes) const {
  const QuotaAccountPtr account = account_of_inode(inode);
  return account != nullptr ? account->check_room({bytes, bytes}) : Result<void>();
}

Result<QuotaReservation> QuotaGuard::reserve_for(const InodePtr& inode, FileContent& content, std::uint64_t offset,
                                                 std::uint64_t length, FileContent* source,
                                                 std::uint64_t source_offset) {
  const QuotaAccountPtr account = account_of_inode(*inode);
  if (account == nullptr) return QuotaReservation();
  // The data of a file never exceed its size. So an overwrite of a file without holes adds nothing.
  const std::uint64_t new_size = std::max(content.size(), offset + length);
  const std::uint64_t most = std::min(length, new_size - std::min(new_size, content.data_bytes()));
  if (account->charge({most, length})) return QuotaReservation(inode, account, most);
  DEDUPFS_ASSIGN(const std::uint64_t there, content.count_data_bytes(offset, length));
  std::uint64_t added = length;
  if (source != nullptr) {
    DEDUPFS_ASSIGN(added, source->count_data_bytes(source_offset, length));
  }
  added -= std::min(added, there);
  {
    const MutexLock lock(inode->mutex);
    settle_charge(*inode);
  }
  DEDUPFS_TRY(account->charge({added, length}));
  return QuotaReservation(inode, account, added);
}

Result<void> QuotaGuard::check_same_tree(Inode& directory, Inode& target) {
  if (account_of(directory) == account_of_name(target)) return {};
  return Error{ErrorCode::kCrossesTrees, "inode " + std::to_string(target.number) + " and directory " +
                                             std::to_string(directory.number) +
                                             " are in different trees, and one has a quota"};
}

}  // namespace dedupfs
