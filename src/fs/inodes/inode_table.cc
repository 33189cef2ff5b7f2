#include "fs/inodes/inode_table.h"

#include <algorithm>

#include "base/check.h"
#include "base/mutex.h"
#include "fs/format/mode.h"

namespace dedupfs {

InodeLocks::InodeLocks(Inode& a, Inode& b) {
  lock({&a, &b});
}

InodeLocks::InodeLocks(Inode& a, Inode& b, Inode& c, Inode* d) {
  lock({&a, &b, &c, d});
}

// No analysis: the constructors declare the locks.
void InodeLocks::lock(const std::array<Inode*, kMost>& inodes) DEDUPFS_NO_THREAD_SAFETY_ANALYSIS {
  std::array<Inode*, kMost> ordered = inodes;
  std::sort(ordered.begin(), ordered.end(), [](const Inode* a, const Inode* b) {
    return (a == nullptr ? 0 : a->number) < (b == nullptr ? 0 : b->number);
  });
  const auto end = std::unique(ordered.begin(), ordered.end());
  std::size_t count = 0;
  for (auto inode = ordered.begin(); inode != end; ++inode) {
    if (*inode == nullptr) continue;
    (*inode)->mutex.lock();
    held_[count++] = &(*inode)->mutex;
  }
}

InodeLocks::~InodeLocks() {
  for (Mutex* const mutex : held_)
    if (mutex != nullptr) mutex->unlock();
}

InodeTable::InodeTable(Metadata& metadata, std::size_t cap, const QuotaLedger* quotas)
    : metadata_(metadata), cap_per_shard_(std::max<std::size_t>(1, cap / kShards)), quotas_(quotas) {}

InodeTable::~InodeTable() = default;

Result<InodePtr> InodeTable::get(InodeNumber number) {
  DEDUPFS_TRY(metadata_.check_tree(tree_of(number)));
  InodePtr inode = find_or_insert(number);
  // Reads from the disk under the inode's own lock, not the shard's. So other threads can go on.
  const bool is_loaded = inode->loaded;
  cache_meter_.note(is_loaded);
  if (!is_loaded) DEDUPFS_TRY(load(*inode));
  return inode;
}

Result<InodePtr> InodeTable::get_directory(InodeNumber number) {
  DEDUPFS_ASSIGN(InodePtr inode, get(number));
  const MutexLock lock(inode->mutex);
  if (!is_directory(inode->record.attributes.mode))
    return Error{ErrorCode::kNotDirectory, "inode " + std::to_string(number) + " is not a directory"};
  return inode;
}

Result<InodePtr> InodeTable::get_file(InodeNumber number) {
  DEDUPFS_ASSIGN(InodePtr inode, get(number));
  const MutexLock lock(inode->mutex);
  const std::uint32_t mode = inode->record.attributes.mode;
  if (is_directory(mode)) return Error{ErrorCode::kIsDirectory, "inode " + std::to_string(number) + " is a directory"};
  if (!is_regular(mode))
    return Error{ErrorCode::kInvalidArgument, "inode " + std::to_string(number) + " is not a file"};
  return inode;
}

InodePtr InodeTable::find_or_insert(InodeNumber number) {
  std::vector<InodePtr> evicted;  // destroyed after the lock
  Shard& shard = shard_of(number);
  const MutexLock lock(shard.mutex);
  if (const auto found = shard.inodes.find(number); found != shard.inodes.end()) {
    shard.order.splice(shard.order.begin(), shard.order, found->second);
    return *found->second;
  }
  shard.order.push_front(std::make_shared<Inode>(number));
  InodePtr inode = shard.order.front();
  shard.inodes.emplace(number, shard.order.begin());
  evicted = evict_some(shard);
  return inode;
}

Result<void> InodeTable::load(Inode& inode) {
  const MutexLock lock(inode.mutex);
  if (inode.loaded) return {};
  DEDUPFS_ASSIGN(const std::optional<std::string> value,
                 metadata_.get(Family::kInodes, encode_inode_key(inode.number)));
  if (!value) return Error{ErrorCode::kStale, "inode " + std::to_string(inode.number) + " does not exist"};
  DEDUPFS_ASSIGN(const InodeRecord record, decode_inode(inode.number, *value));
  set_record(inode, record);
  return {};
}

void InodeTable::set_record(Inode& inode, const InodeRecord& record) const {
  inode.record = record;
  if (record.quota != kNoQuota && quotas_ != nullptr && tree_of(inode.number) == kLiveTree)
    inode.quota = {.account = quotas_->find(record.quota),
                   .charged_bytes = record.attributes.data_bytes,
                   .recorded_bytes = record.attributes.data_bytes,
                   .unknown = quotas_->damage() ? record.quota : kNoQuota};
  inode.loaded = true;
}

// An object can go if only the table has a pointer to it: others get their copies only under the shard's lock. Open inodes
// stay, because it is costly to build their content again.
std::vector<InodePtr> InodeTable::evict_some(Shard& shard) {
  constexpr int kAttempts = 8;
  std::vector<InodePtr> evicted;
  for (int attempt = 0; attempt < kAttempts && shard.order.size() > cap_per_shard_; ++attempt) {
    const auto oldest = std::prev(shard.order.end());
    const auto holders = shard.holders.find((*oldest)->number);
    const bool open = holders != shard.holders.end() && holders->second.openings != 0;
    if (open || oldest->use_count() > 1) {
      shard.order.splice(shard.order.begin(), shard.order, oldest);
      continue;
    }
    shard.inodes.erase((*oldest)->number);
    evicted.push_back(std::move(*oldest));
    shard.order.erase(oldest);
  }
  return evicted;
}

InodePtr InodeTable::find_in_memory(InodeNumber number) {
  Shard& shard = shard_of(number);
  const MutexLock lock(shard.mutex);
  const auto found = shard.inodes.find(number);
  return found == shard.inodes.end() || !(*found->second)->loaded ? nullptr : *found->second;
}

InodePtr InodeTable::add(const InodeRecord& record) {
  InodePtr inode = find_or_insert(record.attributes.inode);
  const MutexLock lock(inode->mutex);
  // A loaded inode has a record, and new numbers lie behind those of all records: InodeNumbers::load() has made sure.
  DEDUPFS_CHECK(!inode->loaded);
  set_record(*inode, record);
  return inode;
}

void InodeTable::erase(InodeNumber number) {
  InodePtr erased;  // destroyed after the lock
  Shard& shard = shard_of(number);
  const MutexLock lock(shard.mutex);
  const auto found = shard.inodes.find(number);
  if (found == shard.inodes.end()) return;
  erased = std::move(*found->second);
  shard.order.erase(found->second);
  shard.inodes.erase(found);
}

void InodeTable::forget_live_records() {
  for (Shard& shard : shards_) {
    Order forgotten;  // destroyed after the lock
    const MutexLock lock(shard.mutex);
    for (auto at = shard.order.begin(); at != shard.order.end();) {
      const auto inode = at++;
      if (tree_of((*inode)->number) != kLiveTree || (*inode)->number == kSnapshotsInode) continue;
      shard.inodes.erase((*inode)->number);
      forgotten.splice(forgotten.end(), shard.order, inode);
    }
    for (auto& [number, holders] : shard.holders) holders.orphan = false;
  }
}

std::optional<InodeNumber> InodeTable::find_open_in_live_tree() {
  for (Shard& shard : shards_) {
    const MutexLock lock(shard.mutex);
    for (const auto& [number, holders] : shard.holders)
      if (holders.openings != 0 && tree_of(number) == kLiveTree) return number;
  }
  return std::nullopt;
}

void InodeTable::reference(InodeNumber number, std::uint64_t count) {
  Shard& shard = shard_of(number);
  const MutexLock lock(shard.mutex);
  shard.holders[number].references += count;
}

bool InodeTable::reference_if_held(InodeNumber number) {
  Shard& shard = shard_of(number);
  const MutexLock lock(shard.mutex);
  const auto found = shard.holders.find(number);
  if (found == shard.holders.end()) return false;
  ++found->second.references;
  return true;
}

void InodeTable::open(InodeNumber number) {
  Shard& shard = shard_of(number);
  const MutexLock lock(shard.mutex);
  ++shard.holders[number].openings;
}

bool InodeTable::is_open(InodeNumber number) {
  Shard& shard = shard_of(number);
  const MutexLock lock(shard.mutex);
  const auto found = shard.holders.find(number);
  return found != shard.holders.end() && found->second.openings != 0;
}

bool InodeTable::mark_orphan(InodeNumber number) {
  Shard& shard = shard_of(number);
  const MutexLock lock(shard.mutex);
  const auto found = shard.holders.find(number);
  if (found == shard.holders.end()) return true;
  found->second.orphan = true;
  return false;
}

bool InodeTable::drop_if_unheld(Shard& shard, std::unordered_map<InodeNumber, Holders>::iterator holders) {
  if (!holders->second.none()) return false;
  const bool was_orphan = holders->second.orphan;
  shard.holders.erase(holders);
  return was_orphan;
}

void InodeTable::reference_unnamed(InodeNumber number) {
  Shard& shard = shard_of(number);
  const MutexLock lock(shard.mutex);
  Holders& holders = shard.holders[number];
  ++holders.references;
  holders.orphan = holders.unnamed = true;
}

bool InodeTable::is_unnamed(InodeNumber number) {
  Shard& shard = shard_of(number);
  const MutexLock lock(shard.mutex);
  const auto found = shard.holders.find(number);
  return found != shard.holders.end() && found->second.unnamed;
}

bool InodeTable::name_unnamed(InodeNumber number) {
  Shard& shard = shard_of(number);
  const MutexLock lock(shard.mutex);
  const auto found = shard.holders.find(number);
  if (found == shard.holders.end() || !found->second.unnamed) return false;
  found->second.orphan = found->second.unnamed = false;
  return true;
}

bool InodeTable::forget(InodeNumber number, std::uint64_t count) {
  Shard& shard = shard_of(number);
  const MutexLock lock(shard.mutex);
  const auto found = shard.holders.find(number);
  if (found == shard.holders.end()) return false;  // the kernel forgets the root, which it never looked up
  found->second.references -= std::min(count, found->second.references);
  return drop_if_unheld(shard, found);
}

bool InodeTable::close(InodeNumber number) {
  Shard& shard = shard_of(number);
  const MutexLock lock(shard.mutex);
  const auto found = shard.holders.find(number);
  DEDUPFS_CHECK(found != shard.holders.end() && found->second.openings > 0);  // the kernel's count, not the disk's
  --found->second.openings;
  return drop_if_unheld(shard, found);
}

std::vector<InodeNumber> InodeTable::adopt_holders(InodeTable& other) {
  std::vector<InodeNumber> held;
  for (std::size_t i = 0; i < kShards; ++i) {
    std::unordered_map<InodeNumber, Holders> theirs;
    {
      const MutexLock lock(other.shards_[i].mutex);
      theirs = other.shards_[i].holders;
    }
    const MutexLock lock(shards_[i].mutex);
    for (const auto& [number, holders] : theirs) {
      held.push_back(number);
      Holders& ours = shards_[i].holders[number];
      ours.references += holders.references;
      ours.openings += holders.openings;
    }
  }
  return held;
}

void InodeTable::mark_dirty(const InodePtr& inode) {
  if (inode->dirty) return;
  inode->dirty = true;
  const MutexLock lock(dirty_mutex_);
  dirty_.emplace(inode->number, inode);
}

void InodeTable::clear_dirty(const InodePtr& inode) {
  inode->dirty = false;
  const MutexLock lock(dirty_mutex_);
  dirty_.erase(inode->number);
}

std::vector<InodePtr> InodeTable::dirty() const {
  const MutexLock lock(dirty_mutex_);
  std::vector<InodePtr> inodes;
  inodes.reserve(dirty_.size());
  for (const auto& [number, inode] : dirty_) inodes.push_back(inode);
  return inodes;
}

bool InodeTable::has_dirty() const {
  const MutexLock lock(dirty_mutex_);
  return !dirty_.empty();
}

}  // namespace dedupfs
