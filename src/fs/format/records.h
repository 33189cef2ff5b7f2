// The records of the namespace in the metadata families: inodes, directory entries, extended attributes, orphans, counters. See
// docs/format.md, "Metadata records". Keys are big-endian, so that byte order is number order.
//
// Values name inodes without their tree. Decoded values have nodes of the requested tree.
//
// Failure: decoding trusts nothing: kCorruption for a key or value that the encoder never writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fs/format/types.h"

namespace dedupfs {

inline constexpr std::uint8_t kRecordVersion = 1;  // the first byte of every value
// No volume has a record with a later number: a mount that begins here can use 2^32 more.
inline constexpr InodeNumber kLastInode = kSnapshotsInode - (std::uint64_t{1} << 32);
inline constexpr std::uint64_t kFirstCookie = 3;             // 1 and 2 are "." and ".."
inline constexpr std::uint64_t kLastCookie = INT64_MAX - 1;  // offsets of directories have a sign
inline constexpr std::uint64_t kDirectoryEntryBytes = 32;    // added by each entry to its directory's size

inline constexpr std::string_view kNextInodeCounter = "next_inode";  // no inode has this number or a higher one
inline constexpr std::string_view kInodesCounter = "inodes";         // records in Family::kInodes

// 1 to 255 bytes without '/' and NUL, and neither "." nor "..".
bool is_valid_name(std::string_view name);

// --- Family::kInodes, and the key of Family::kOrphans, whose values are empty
struct InodeRecord {
  Attributes attributes;
  std::string symlink_target;
  bool has_xattrs = false;       // false: it certainly has none
  QuotaNumber quota = kNoQuota;  // the quota that counts it

  bool operator==(const InodeRecord&) const = default;
};

// These keep the link count of a directory within the range of a record, even if it was wrong. fsck.dedupfs counts again.
void add_subdirectory(Attributes& directory);
void drop_subdirectory(Attributes& directory);

std::string encode_inode_key(InodeNumber inode);
Result<InodeNumber> decode_inode_key(std::string_view key);
std::string encode_inode(const InodeRecord& record);
Result<InodeRecord> decode_inode(InodeNumber inode, std::string_view value);

// --- Family::kDirents: where a name leads
struct DirentKey {
  InodeNumber parent = 0;
  std::string_view name;
};
struct Dirent {
  InodeNumber inode = 0;
  std::uint32_t type = 0;    // the type bits of the mode
  std::uint64_t cookie = 0;  // its key in Family::kCookies

  bool operator==(const Dirent&) const = default;
};

std::string encode_dirent_key(InodeNumber parent, std::string_view name);
Result<DirentKey> decode_dirent_key(std::string_view key);  // the name is a view into `key`
std::string encode_dirent(const Dirent& dirent);
Result<Dirent> decode_dirent(InodeNumber parent, std::string_view value);

// --- Family::kCookies: the entries of a directory in the order of their creation
struct CookieKey {
  InodeNumber parent = 0;
  std::uint64_t cookie = 0;
};
struct CookieEntry {
  InodeNumber inode = 0;
  std::uint32_t type = 0;
  std::string name;

  bool operator==(const CookieEntry&) const = default;
};

std::string encode_cookie_key(InodeNumber parent, std::uint64_t cookie);
Result<CookieKey> decode_cookie_key(std::string_view key);
std::string encode_cookie_entry(const CookieEntry& entry);
Result<CookieEntry> decode_cookie_entry(InodeNumber parent, std::string_view value);

// --- Family::kXattrs; the value is stored as it is
struct XattrKey {
  InodeNumber inode = 0;
  std::string_view name;
};

std::string encode_xattr_key(InodeNumber inode, std::string_view name);
Result<XattrKey> decode_xattr_key(std::string_view key);  // the name is a view into `key`

// The first key behind all keys that start with this inode or parent, in each of the families above.
std::string encode_key_behind(InodeNumber inode);

// --- Family::kCounters
std::string encode_counter(std::uint64_t value);
Result<std::uint64_t> decode_counter(std::string_view name, std::string_view value);

}  // namespace dedupfs
