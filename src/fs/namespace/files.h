// Operations on regular files: opening, reading, writing and all other operations on content.
//
// Threads:   every function from any thread, without locks.
// Ownership: all constructor arguments must outlive it.
// Failure:   errors as in POSIX; damage is logged.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "fs/format/types.h"
#include "fs/inodes/damage_log.h"
#include "fs/inodes/inode_changes.h"
#include "fs/inodes/inode_table.h"
#include "fs/inodes/orphan_reaper.h"
#include "fs/inodes/quota_guard.h"
#include "fs/namespace/access_times.h"
#include "fs/namespace/file_contents.h"
#include "fs/namespace/filesystem_types.h"
#include "fs/transactions/space_guard.h"
#include "fs/transactions/transactions.h"
#include "fs/transactions/writability.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

class Files {
 public:
  Files(const Metadata& metadata, InodeTable& table, FileContents& contents, InodeChanges& changes,
        OrphanReaper& orphans, const Writability& writability, Transactions& transactions, SpaceGuard& space,
        QuotaGuard& quotas, AccessTimes& access_times, DamageLog& damage_log)
      : metadata_(metadata),
        table_(table),
        contents_(contents),
        changes_(changes),
        orphans_(orphans),
        writability_(writability),
        transactions_(transactions),
        space_(space),
        quotas_(quotas),
        access_times_(access_times),
        damage_log_(damage_log) {}

  // As the functions of Filesystem.
  Result<void> open(InodeNumber number, bool truncate, const Caller& caller);
  void release(InodeNumber number, bool was_writer);
  bool note_opened_for_reading(InodeNumber number);
  Result<std::vector<PinnedBytes>> read(InodeNumber number, std::uint64_t offset, std::size_t length, AccessTime atime);
  void prefetch(InodeNumber number, std::uint64_t offset, std::uint64_t length);
  Result<void> write(InodeNumber number, std::uint64_t offset, ByteSpan bytes, const Caller& caller,
                     const std::function<bool()>& cancelled);
  Result<void> allocate(InodeNumber number, std::uint64_t offset, std::uint64_t length, AllocateMode mode,
                        const Caller& caller, const std::function<bool()>& cancelled);
  Result<std::uint64_t> seek_data(InodeNumber number, std::uint64_t offset);
  Result<std::uint64_t> seek_hole(InodeNumber number, std::uint64_t offset);
  Result<std::uint64_t> copy_range(InodeNumber from, std::uint64_t from_offset, InodeNumber to, std::uint64_t to_offset,
                                   std::uint64_t length, const Caller& caller, const std::function<bool()>& cancelled);
  // Reports errors of earlier writes, once.
  Result<void> flush(InodeNumber number);
  Result<void> sync(InodeNumber number);
  void give_up_waiting() { gives_up_ = true; }

 private:
  Result<void> admit_write(std::uint64_t bytes, const std::function<bool()>& cancelled);
  std::function<bool()> given_up_or(const std::function<bool()>& cancelled) const;

  const Metadata& metadata_;
  InodeTable& table_;
  FileContents& contents_;
  InodeChanges& changes_;
  OrphanReaper& orphans_;
  const Writability& writability_;
  Transactions& transactions_;
  SpaceGuard& space_;
  QuotaGuard& quotas_;
  AccessTimes& access_times_;
  DamageLog& damage_log_;
  std::atomic<bool> gives_up_{false};
};

}  // namespace dedupfs
