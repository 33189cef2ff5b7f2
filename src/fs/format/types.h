// Common types of the filesystem and its callers: inodes, attributes, callers.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/metadata/tree.h"

namespace dedupfs {

// Inode numbers are never reused, so a number serves as a file handle for NFS. It is also the node id of FUSE. The number of an
// inode in a snapshot has the number of the snapshot in its upper bits (store/metadata/tree.h).
using InodeNumber = std::uint64_t;
inline constexpr InodeNumber kRootInode = 1;
// The directory of the snapshots. No record holds it.
inline constexpr InodeNumber kSnapshotsInode = kEndOfInodes - 1;
inline constexpr std::string_view kSnapshotsName = ".snapshots";  // in the root, where no readdir shows it
inline bool is_snapshots_entry(InodeNumber parent, std::string_view name) {
  return parent == kRootInode && name == kSnapshotsName;
}

// Of a tree with a quota. Numbers are never reused. One that no quota has means nothing.
using QuotaNumber = std::uint32_t;
inline constexpr QuotaNumber kNoQuota = 0;

inline constexpr std::size_t kMaxName = 255;
inline constexpr std::size_t kMaxSymlink = 4095;
inline constexpr std::size_t kMaxXattrName = 255;
inline constexpr std::size_t kMaxXattrValue = 64 * 1024;
// Of attributes that dedupfs itself keeps: no list has them, so no program copies them.
inline constexpr std::string_view kOwnXattrPrefix = "trusted.dedupfs.";
inline constexpr std::uint32_t kMaxLinks = 65000 * 1000;
inline constexpr std::uint64_t kMaxFileBytes = INT64_MAX;

struct Timestamp {
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;

  static Timestamp now();  // CLOCK_REALTIME
  auto operator<=>(const Timestamp&) const = default;
};

struct Attributes {
  InodeNumber inode = 0;
  std::uint32_t mode = 0;  // type and permissions, as st_mode
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t links = 0;
  std::uint64_t device = 0;  // of device files, as st_rdev
  std::uint64_t size = 0;
  std::uint64_t data_bytes = 0;  // the size without holes: st_blocks * 512
  Timestamp atime;
  Timestamp mtime;
  Timestamp ctime;
  Timestamp btime;
  InodeNumber parent = 0;         // of directories: the inode of ".."
  std::uint64_t next_cookie = 0;  // of directories: the cookie of the next entry

  bool operator==(const Attributes&) const = default;
};

// The changes of setattr. Unset fields stay.
struct AttributeChanges {
  std::optional<std::uint32_t> mode;  // permission bits only
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  std::optional<std::uint64_t> size;
  std::optional<Timestamp> atime;
  std::optional<Timestamp> mtime;
  std::optional<Timestamp> ctime;
};

// Rights of a caller that only the system knows. An answer costs reads of /proc: ask only if set-id bits matter.
class CallerRights {
 public:
  virtual ~CallerRights() = default;
  virtual bool has_supplementary_group(std::uint32_t gid) const = 0;
  virtual bool may_keep_set_ids() const = 0;  // CAP_FSETID
};

// The user that an operation runs for. The kernel has checked permissions (default_permissions). This decides ownership, and which
// changes clear set-id bits.
struct Caller {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t umask = 0;
  const CallerRights* rights = nullptr;  // null: root has all rights, others have only the group `gid`

  bool may_keep_set_ids() const { return rights != nullptr ? rights->may_keep_set_ids() : uid == 0; }
  bool is_in_group(std::uint32_t group) const {
    return group == gid || (rights != nullptr && rights->has_supplementary_group(group));
  }
};

}  // namespace dedupfs
