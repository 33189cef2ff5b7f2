#include "fs/inodes/orphan_reaper.h"

#include <spdlog/spdlog.h>

#include "base/crash_point.h"
#include "base/mutex.h"
#include "fs/content/file_content.h"
#include "fs/content/recipe.h"
#include "fs/format/mode.h"
#include "fs/format/records.h"
#include "fs/inodes/inode_record.h"
#include "index/entries.h"
#include "store/chunks/dropped_bytes.h"

namespace dedupfs {
namespace {

constexpr std::size_t kSegmentsPerStep = 64;
constexpr std::size_t kXattrsPerStep = 64;
constexpr std::size_t kOrphansPerStep = 64;

}  // namespace

Result<void> OrphanReaper::load() {
  {
    const MutexLock lock(mutex_);
    orphans_.clear();
  }
  constexpr std::size_t kOrphansAPage = 4096;
  const auto push_orphan = [this](const std::string& key, const std::string& /*value*/) -> Result<void> {
    const auto orphan = decode_inode_key(key);
    if (orphan && *orphan != kRootInode && *orphan <= kLastInode)
      push(*orphan);
    else
      spdlog::error("the list of unlinked inodes has an impossible entry; run fsck.dedupfs -y after the next unmount");
    return {};
  };
  return visit_entries(metadata_, Family::kOrphans, {}, {}, kOrphansAPage, push_orphan);
}

void OrphanReaper::note_unlinked(InodeNumber orphan) {
  if (const InodePtr inode = table_.find_in_memory(orphan)) inode->unlinked = true;
  push(orphan);
  transactions_.request_clean_up();
}

void OrphanReaper::push(InodeNumber orphan) {
  const MutexLock lock(mutex_);
  orphans_.push_back(orphan);
  ++pushed_;
}

std::uint64_t OrphanReaper::pushed() const {
  const MutexLock lock(mutex_);
  return pushed_;
}

bool OrphanReaper::are_gone(std::uint64_t count) const {
  const MutexLock lock(mutex_);
  return pushed_ - orphans_.size() >= count;
}

bool OrphanReaper::step() {
  for (std::size_t i = 0; i < kOrphansPerStep; ++i) {
    InodeNumber orphan = 0;
    {
      const MutexLock lock(mutex_);
      if (orphans_.empty()) return false;
      orphan = orphans_.front();
    }
    const Result<bool> gone = delete_some(orphan);
    if (!gone) spdlog::error("inode {} could not be deleted: {}", orphan, gone.error().message());
    if (gone && !*gone) return true;  // a large one: the next step continues
    const MutexLock lock(mutex_);
    orphans_.pop_front();
  }
  return true;
}

Result<bool> OrphanReaper::delete_some(InodeNumber orphan) {
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get(orphan));
  std::shared_ptr<FileContent> content;
  InodeRecord record;
  {
    const MutexLock lock(inode->mutex);
    content = std::exchange(inode->content, nullptr);
    // The inode may leave the memory between two steps, and comes back with the charge of its record.
    settle_charge(*inode);
    record = inode->record;
    table_.clear_dirty(inode);
  }
  if (record.attributes.links != 0)
    return Error{ErrorCode::kCorruption, "an orphan has " + std::to_string(record.attributes.links) + " links"};
  if (content != nullptr) {
    // Ends the in-flight batches of the file: the recipe must not change any more.
    if (content->dirty()) DEDUPFS_TRY(content->truncate(0));
    DEDUPFS_TRY(content->flush());
    content.reset();
  }
  if (is_regular(record.attributes.mode)) {
    DEDUPFS_ASSIGN(const bool none_left, Recipe::erase_some(metadata_, orphan, kSegmentsPerStep));
    if (!none_left) return false;
  }
  if (record.has_xattrs) {
    DEDUPFS_ASSIGN(const bool none_left, erase_xattrs(orphan));
    if (!none_left) return false;
  }
  metadata_.erase(Family::kInodes, encode_inode_key(orphan));
  metadata_.erase(Family::kOrphans, encode_inode_key(orphan));
  {
    const MutexLock lock(inode->mutex);
    if (QuotaAccount* const account = account_of(*inode); account != nullptr && account->directory() == orphan)
      quotas_.remove(*account);
    leave_quota(*inode);
  }
  table_.erase(orphan);
  numbers_.count_deleted();
  chunks_.dropped().add(record.attributes.data_bytes);
  crash_point("orphan.deleted");
  return true;
}

Result<bool> OrphanReaper::erase_xattrs(InodeNumber orphan) {
  DEDUPFS_ASSIGN(const std::vector<KeyValue> piece,
                 metadata_.list(Family::kXattrs, encode_inode_key(orphan), encode_key_behind(orphan), kXattrsPerStep));
  for (const auto& [key, value] : piece) metadata_.erase(Family::kXattrs, key);
  return piece.size() < kXattrsPerStep;
}

}  // namespace dedupfs
