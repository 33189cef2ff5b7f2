#include "fs/inodes/inode_record.h"

#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "fs/content/file_content.h"
#include "fs/format/mode.h"
#include "fs/format/records.h"

namespace dedupfs {
namespace {

void charge_present(Inode& inode, QuotaAccount& account) DEDUPFS_REQUIRES(inode.mutex) {
  const std::uint64_t now = attributes_of(inode).data_bytes;
  account.change_charge(std::exchange(inode.quota.charged_bytes, now), now);
}

}  // namespace

Attributes attributes_of(const Inode& inode) {
  Attributes attributes = inode.record.attributes;
  if (inode.content != nullptr) {
    attributes.size = inode.content->size();
    attributes.data_bytes = inode.content->data_bytes();
  }
  return attributes;
}

void put_record(Metadata& metadata, Inode& inode) {
  // It stays alive, whoever removes the quota meanwhile.
  const QuotaAccountPtr account = account_of(inode) != nullptr ? inode.quota.account : nullptr;
  inode.record.attributes = attributes_of(inode);
  inode.record.quota = account != nullptr ? account->number() : inode.quota.unknown;
  if (account != nullptr) charge_present(inode, *account);
  if (inode.content != nullptr) inode.record.attributes.data_bytes = inode.content->stored_data_bytes();
  metadata.put(Family::kInodes, encode_inode_key(inode.number), encode_inode(inode.record));
  if (account != nullptr)
    account->change_record(std::exchange(inode.quota.recorded_bytes, inode.record.attributes.data_bytes),
                           inode.record.attributes.data_bytes);
}

QuotaAccount* account_of(Inode& inode) {
  if (inode.quota.account != nullptr && inode.quota.account->is_removed()) inode.quota = {};
  return inode.quota.account.get();
}

QuotaAccount* account_of_name(Inode& inode) {
  QuotaAccount* const account = account_of(inode);
  return account != nullptr && account->directory() == inode.number ? nullptr : account;
}

void settle_charge(Inode& inode) {
  if (QuotaAccount* const account = account_of(inode)) charge_present(inode, *account);
}

void leave_quota(Inode& inode) {
  if (QuotaAccount* const account = account_of(inode)) {
    account->change_charge(inode.quota.charged_bytes, 0);
    account->change_record(inode.quota.recorded_bytes, 0);
    account->drop_file();
  }
  inode.quota = {};
}

Result<NewFileInQuota> NewFileInQuota::in(Inode& directory) {
  NewFileInQuota file;
  file.share_.unknown = directory.quota.unknown;
  if (QuotaAccount* const account = account_of(directory)) {
    DEDUPFS_TRY(account->add_file());
    file.share_.account = directory.quota.account;
  }
  return file;
}

Result<void> NewFileInQuota::add_content(std::uint64_t bytes) {
  if (share_.account == nullptr) return {};
  DEDUPFS_TRY(share_.account->charge({bytes, bytes}));
  share_.charged_bytes += bytes;
  return {};
}

NewFileInQuota::~NewFileInQuota() {
  if (share_.account == nullptr) return;
  share_.account->change_charge(share_.charged_bytes, 0);
  share_.account->drop_file();
}

InodeNumber parent_of(Inode& directory) {
  if (tree_of(directory.number) != kLiveTree && inode_of(directory.number) == kRootInode) return kSnapshotsInode;
  const MutexLock lock(directory.mutex);
  return directory.record.attributes.parent;
}

Result<InodeNumber> read_parent(const Metadata& metadata, InodeNumber directory) {
  DEDUPFS_ASSIGN(const std::optional<std::string> value, metadata.get(Family::kInodes, encode_inode_key(directory)));
  if (!value) return Error{ErrorCode::kStale, "inode " + std::to_string(directory) + " does not exist"};
  DEDUPFS_ASSIGN(const InodeRecord record, decode_inode(directory, *value));
  if (!is_directory(record.attributes.mode))
    return Error{ErrorCode::kNotDirectory, "inode " + std::to_string(directory) + " is not a directory"};
  return record.attributes.parent;
}

}  // namespace dedupfs
