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

// What a write into a range adds at most: the data of a file never exceed its size. So an overwrite of a file without holes adds
// nothing.
std::uint64_t most_added(std::uint64_t size, std::uint64_t data_bytes, std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t new_size = std::max(size, offset + length);
  return std::min(length, new_size - std::min(new_size, data_bytes));
}

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

// The kernel tells of a deleted file's last holder a moment after unlink(2) has returned. So it waits once before it looks which files
// are deleted. It does not wait for those that are deleted later.
void QuotaGuard::await_room(const std::function<bool()>& has_room) {
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  const auto wait = [this] {
    transactions_.request_clean_up();
    std::this_thread::sleep_for(kLookInterval);
  };
  wait();
  const std::uint64_t deleted = orphans_.pushed();
  while (!has_room() && !orphans_.are_gone(deleted) && std::chrono::steady_clock::now() < end) wait();
}

Result<void> QuotaGuard::admit(Inode& inode, std::uint64_t offset, std::uint64_t length, const Cancelled& cancelled) {
  const QuotaAccountPtr account = account_of_inode(inode);
  if (account == nullptr || length == 0) return {};
  const auto has_room = [&] {
    const MutexLock lock(inode.mutex);
    const Attributes attributes = attributes_of(inode);
    return account->has_room_for({most_added(attributes.size, attributes.data_bytes, offset, length), length});
  };
  if (has_room()) return {};
  await_room(has_room);
  return account->needs_measurement(length) ? measure(account, cancelled) : Result<void>();
}

Result<void> QuotaGuard::admit_file(Inode& directory, std::uint64_t bytes, const Cancelled& cancelled) {
  const QuotaAccountPtr account = account_of_inode(directory);
  const auto has_room = [&] { return account->has_room_for_a_file() && account->has_room_for({bytes, bytes}); };
  if (account == nullptr || has_room()) return {};
  await_room(has_room);
  return account->needs_measurement(bytes) ? measure(account, cancelled) : Result<void>();
}

Result<void> QuotaGuard::measure(const QuotaAccountPtr& account, const Cancelled& cancelled) {
  Result<void> outcome;
  measure_(account, [&] {
    if (cancelled != nullptr && cancelled())
      outcome = Error{ErrorCode::kInterrupted, "measuring the stored bytes of the tree was given up"};
    return outcome;
  });
  return outcome;
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
  const std::uint64_t data = source != nullptr ? std::min(length, source->data_bytes()) : length;
  const std::uint64_t most = std::min(data, most_added(content.size(), content.data_bytes(), offset, length));
  if (account->charge({most, data})) return QuotaReservation(inode, account, most);
  DEDUPFS_ASSIGN(const std::uint64_t there, content.count_data_bytes(offset, length));
  std::uint64_t written = length;
  if (source != nullptr) {
    DEDUPFS_ASSIGN(written, source->count_data_bytes(source_offset, length));
  }
  const std::uint64_t added = written - std::min(written, there);
  {
    const MutexLock lock(inode->mutex);
    settle_charge(*inode);
  }
  DEDUPFS_TRY(account->charge({added, written}));
  return QuotaReservation(inode, account, added);
}

Result<void> QuotaGuard::check_same_tree(Inode& directory, Inode& target) {
  if (account_of(directory) == account_of_name(target)) return {};
  return Error{ErrorCode::kCrossesTrees, "inode " + std::to_string(target.number) + " and directory " +
                                             std::to_string(directory.number) +
                                             " are in different trees, and one has a quota"};
}

}  // namespace dedupfs
