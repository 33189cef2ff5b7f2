// The inodes in memory, their holders, and the set of inodes with changes for the next transaction group.
//
// An Inode object is a cache of its record, and holds its content. The table keeps at most its cap of objects, and beyond that
// only inodes that are open, changed or used by a running operation. A reference of the kernel costs a few bytes, not an
// object.
//
// Threads:   every function from any thread. An Inode's fields are guarded by its mutex unless they say otherwise.
// Ownership: all InodePtrs of a number point to the same object; there is never a second one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/meter.h"
#include "base/mutex.h"
#include "base/result.h"
#include "fs/format/records.h"
#include "fs/format/types.h"
#include "fs/inodes/quota_ledger.h"
#include "fs/transactions/lock_order.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

class FileContent;

// The part of an inode in the sums of its quota.
struct QuotaShare {
  QuotaAccountPtr account;  // null: no quota counts the inode
  std::uint64_t charged_bytes = 0;
  std::uint64_t recorded_bytes = 0;
  QuotaNumber unknown = kNoQuota;  // the quota of the record, if nobody knows the quotas: it stays
};

struct Inode {
  explicit Inode(InodeNumber its_number) : number(its_number) {}

  const InodeNumber number;
  Mutex mutex DEDUPFS_ACQUIRED_AFTER(lock_order::inodes) DEDUPFS_ACQUIRED_BEFORE(lock_order::leaves);

  // If there is `content`, its size and data_bytes count, not those here.
  InodeRecord record DEDUPFS_GUARDED_BY(mutex);
  QuotaShare quota DEDUPFS_GUARDED_BY(mutex);  // inode_record.h has its functions
  // Only for regular files, while they are open or changed.
  std::shared_ptr<FileContent> content DEDUPFS_GUARDED_BY(mutex);
  // The error of a failed attempt to store the content. No caller has got it yet.
  std::optional<Error> write_error DEDUPFS_GUARDED_BY(mutex);
  // The last known name of the inode, for messages.
  InodeNumber last_parent DEDUPFS_GUARDED_BY(mutex) = 0;
  std::string last_name DEDUPFS_GUARDED_BY(mutex);
  std::string last_logged_damage DEDUPFS_GUARDED_BY(mutex);
  // For a directory: no entry has its next cookie or a greater one.
  bool has_free_cookies DEDUPFS_GUARDED_BY(mutex) = false;

  std::atomic<bool> loaded{false};    // `record` is valid; set once
  std::atomic<bool> dirty{false};     // in the table's set of changed inodes; set under `mutex`
  std::atomic<bool> unlinked{false};  // it has no name and no holder: nobody will read the content again
};

using InodePtr = std::shared_ptr<Inode>;

// Locks several inodes in the order of their numbers. An inode that is given twice is locked once.
class DEDUPFS_SCOPED_CAPABILITY [[nodiscard]] InodeLocks {
 public:
  InodeLocks(Inode& a, Inode& b) DEDUPFS_ACQUIRE(a.mutex, b.mutex);
  // `d` is left out if it is null.
  InodeLocks(Inode& a, Inode& b, Inode& c, Inode* d) DEDUPFS_ACQUIRE(a.mutex, b.mutex, c.mutex, d->mutex);
  ~InodeLocks() DEDUPFS_RELEASE();
  InodeLocks(const InodeLocks&) = delete;
  InodeLocks& operator=(const InodeLocks&) = delete;

 private:
  static constexpr std::size_t kMost = 4;

  void lock(const std::array<Inode*, kMost>& inodes);

  std::array<Mutex*, kMost> held_{};  // null behind the last one
};

class InodeTable {
 public:
  // `quotas`: null if no inode has one.
  InodeTable(Metadata& metadata, std::size_t cap, const QuotaLedger* quotas = nullptr);
  ~InodeTable();

  // kStale if there is no such inode, or no such snapshot.
  Result<InodePtr> get(InodeNumber inode);
  // The same; kNotDirectory if the inode is no directory.
  Result<InodePtr> get_directory(InodeNumber inode);
  // The same; kIsDirectory or kInvalidArgument if the inode is no regular file.
  Result<InodePtr> get_file(InodeNumber inode);
  InodePtr find_in_memory(InodeNumber inode);  // may be null
  // Adds a new inode. Its record must be in the metadata before anybody else can know its number.
  InodePtr add(const InodeRecord& record);
  // Removes an inode whose record is gone from the metadata.
  void erase(InodeNumber inode);

  // Forgets all records of the live tree and the set of orphans: both may have changed. No inode may be open, changed or in
  // use.
  void forget_live_records();
  // Returns an open inode of the live tree, if there is one.
  std::optional<InodeNumber> find_open_in_live_tree();

  // Holders: the kernel's references and openings.
  void reference(InodeNumber inode, std::uint64_t count);
  bool reference_if_held(InodeNumber inode);
  void open(InodeNumber inode);
  bool is_open(InodeNumber inode);
  // Notes that the last name of the inode is gone. True if nobody holds the inode: it may be deleted now. Otherwise forget() or
  // close() will return true later.
  bool mark_orphan(InodeNumber inode);
  // Counts a reference to a new inode without a name. It is an orphan from the start, but may get a name.
  void reference_unnamed(InodeNumber inode);
  // Whether it is such an inode that somebody still holds.
  bool is_unnamed(InodeNumber inode);
  // Notes that such an inode gets its first name. False if it is none: it had one and lost it, or nobody holds it.
  bool name_unnamed(InodeNumber inode);
  // Both return true if this was the last holder of an orphan.
  bool forget(InodeNumber inode, std::uint64_t count);
  bool close(InodeNumber inode);
  // Holders of another table, whose inodes this one shows from now on, become holders here. Returns the inodes that they hold. Nobody uses
  // either table meanwhile.
  std::vector<InodeNumber> adopt_holders(InodeTable& other);

  // The set of changed inodes.
  void mark_dirty(const InodePtr& inode) DEDUPFS_REQUIRES(inode->mutex);
  void clear_dirty(const InodePtr& inode) DEDUPFS_REQUIRES(inode->mutex);
  std::vector<InodePtr> dirty() const;
  bool has_dirty() const;

  // Of get(): whether the record was in memory.
  CacheMeter::Reading cache_reading() const { return cache_meter_.read(); }

 private:
  static constexpr std::size_t kShards = 64;

  struct Holders {
    std::uint64_t references = 0;
    std::uint32_t openings = 0;
    bool orphan = false;
    bool unnamed = false;  // an orphan that never had a name

    bool none() const { return references == 0 && openings == 0; }
  };
  using Order = std::list<InodePtr>;  // the last used one comes first
  struct Shard {
    Mutex mutex DEDUPFS_ACQUIRED_AFTER(lock_order::leaves);
    Order order DEDUPFS_GUARDED_BY(mutex);
    std::unordered_map<InodeNumber, Order::iterator> inodes DEDUPFS_GUARDED_BY(mutex);
    std::unordered_map<InodeNumber, Holders> holders DEDUPFS_GUARDED_BY(mutex);
  };

  Shard& shard_of(InodeNumber inode) { return shards_[inode % kShards]; }
  InodePtr find_or_insert(InodeNumber inode);
  Result<void> load(Inode& inode);
  void set_record(Inode& inode, const InodeRecord& record) const DEDUPFS_REQUIRES(inode.mutex);
  std::vector<InodePtr> evict_some(Shard& shard) DEDUPFS_REQUIRES(shard.mutex);
  static bool drop_if_unheld(Shard& shard, std::unordered_map<InodeNumber, Holders>::iterator holders)
      DEDUPFS_REQUIRES(shard.mutex);

  Metadata& metadata_;
  const std::size_t cap_per_shard_;
  const QuotaLedger* const quotas_;
  CacheMeter cache_meter_;
  std::array<Shard, kShards> shards_;
  mutable Mutex dirty_mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::leaves);
  std::unordered_map<InodeNumber, InodePtr> dirty_ DEDUPFS_GUARDED_BY(dirty_mutex_);
};

}  // namespace dedupfs
