#include "fs/format/records.h"

#include <algorithm>
#include <limits>

#include "base/coding.h"
#include "fs/format/mode.h"

namespace dedupfs {
namespace {

constexpr std::uint8_t kHasXattrsFlag = 1;
constexpr std::uint8_t kHasQuotaFlag = 2;
constexpr std::uint8_t kKnownFlags = kHasXattrsFlag | kHasQuotaFlag;
constexpr std::uint32_t kNanosecondsPerSecond = 1'000'000'000;

Error damaged(std::string what, std::string_view reason) {
  return {ErrorCode::kCorruption, std::move(what) + ": " + std::string(reason)};
}

std::string inode_text(InodeNumber inode) {
  return "inode " + std::to_string(inode);
}

// Most times are close to the birth of their inode. So seconds are stored as the difference to it (modulo 2^64, so any two
// times work).
void encode_time(Encoder& out, const Timestamp& time, std::int64_t origin) {
  out.signed_varint(
      static_cast<std::int64_t>(static_cast<std::uint64_t>(time.seconds) - static_cast<std::uint64_t>(origin)));
  out.varint(time.nanoseconds);
}

bool decode_time(Decoder& in, Timestamp& time, std::int64_t origin) {
  time.seconds =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(in.signed_varint()) + static_cast<std::uint64_t>(origin));
  const std::uint64_t nanoseconds = in.varint();
  time.nanoseconds = static_cast<std::uint32_t>(nanoseconds);
  return in.ok() && nanoseconds < kNanosecondsPerSecond;
}

bool decode_u32(Decoder& in, std::uint32_t& value) {
  const std::uint64_t wide = in.varint();
  value = static_cast<std::uint32_t>(wide);
  return in.ok() && wide <= std::numeric_limits<std::uint32_t>::max();
}

// Fields that only one type of inode has.
void encode_type_specific(Encoder& out, const InodeRecord& record) {
  const Attributes& attributes = record.attributes;
  if (is_regular(attributes.mode)) {
    out.varint(attributes.size);
    out.varint(attributes.data_bytes);
  } else if (is_directory(attributes.mode)) {
    out.varint(attributes.size);
    out.varint(attributes.parent);
    out.varint(attributes.next_cookie);
  } else if (is_symlink(attributes.mode)) {
    out.varint(record.symlink_target.size());
    out.bytes(record.symlink_target);
  } else if (is_device(attributes.mode)) {
    out.varint(attributes.device);
  }
}

// Returns the reason, or nothing.
std::string_view decode_type_specific(Decoder& in, InodeRecord& record) {
  Attributes& attributes = record.attributes;
  if (is_regular(attributes.mode)) {
    attributes.size = in.varint();
    attributes.data_bytes = in.varint();
    if (attributes.size > kMaxFileBytes || attributes.data_bytes > kMaxFileBytes) return "its size is out of range";
  } else if (is_directory(attributes.mode)) {
    attributes.size = in.varint();
    attributes.parent = in.varint();
    attributes.next_cookie = in.varint();
    if (attributes.size > kMaxFileBytes) return "its size is out of range";
    if (in.ok() && (attributes.parent == 0 || attributes.parent >= kSnapshotsInode)) return "it has no parent";
    attributes.parent = node_of(tree_of(attributes.inode), attributes.parent);
    if (in.ok() && attributes.next_cookie < kFirstCookie) return "its next cookie is out of range";
    if (attributes.links == 1) return "a directory has one link";
  } else if (is_symlink(attributes.mode)) {
    const std::uint64_t length = in.varint();
    if (in.ok() && (length == 0 || length > kMaxSymlink)) return "its target has an impossible length";
    record.symlink_target = text_of(in.bytes(length));
    if (record.symlink_target.find('\0') != std::string::npos) return "its target contains NUL";
    attributes.size = record.symlink_target.size();
  } else if (is_device(attributes.mode)) {
    attributes.device = in.varint();
  }
  return {};
}

// Both forms of a directory entry start with version, type and inode.
void encode_entry_head(Encoder& out, InodeNumber inode, std::uint32_t type) {
  out.u8(kRecordVersion);
  out.u8(static_cast<std::uint8_t>(type >> 12));
  out.varint(inode);
}

std::string_view decode_entry_head(Decoder& in, InodeNumber parent, InodeNumber& inode, std::uint32_t& type) {
  const std::uint8_t version = in.u8();
  type = std::uint32_t{in.u8()} << 12;
  inode = in.varint();
  if (!in.ok()) return "it is cut off";
  if (version != kRecordVersion) return "unknown version";
  if ((type & ~std::uint32_t{S_IFMT}) != 0 || !is_known_type(type)) return "unknown type";
  if (inode == 0 || inode >= kSnapshotsInode) return "it leads nowhere";
  inode = node_of(tree_of(parent), inode);
  return {};
}

}  // namespace

bool is_valid_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

void add_subdirectory(Attributes& directory) {
  if (directory.links < kMaxLinks) ++directory.links;
}

void drop_subdirectory(Attributes& directory) {
  if (directory.links > 2) --directory.links;
}

std::string encode_inode_key(InodeNumber inode) {
  std::string key;
  Encoder(key).big_u64(inode);
  return key;
}

Result<InodeNumber> decode_inode_key(std::string_view key) {
  Decoder in(key);
  const InodeNumber inode = in.big_u64();
  if (!in.ok_at_end() || inode == 0) return damaged("key of an inode", "it is not an inode number");
  return inode;
}

std::string encode_inode(const InodeRecord& record) {
  const Attributes& attributes = record.attributes;
  std::string value;
  Encoder out(value);
  out.u8(kRecordVersion);
  out.u8((record.has_xattrs ? kHasXattrsFlag : 0) | (record.quota != kNoQuota ? kHasQuotaFlag : 0));
  if (record.quota != kNoQuota) out.varint(record.quota);
  out.varint(attributes.mode);
  out.varint(attributes.uid);
  out.varint(attributes.gid);
  out.varint(attributes.links);
  encode_time(out, attributes.btime, 0);
  for (const Timestamp& time : {attributes.atime, attributes.mtime, attributes.ctime})
    encode_time(out, time, attributes.btime.seconds);
  encode_type_specific(out, record);
  return value;
}

Result<InodeRecord> decode_inode(InodeNumber inode, std::string_view value) {
  Decoder in(value);
  InodeRecord record;
  Attributes& attributes = record.attributes;
  attributes.inode = inode;
  if (in.u8() != kRecordVersion) return damaged(inode_text(inode), "its record is empty or of an unknown version");
  const std::uint8_t flags = in.u8();
  if ((flags & ~kKnownFlags) != 0) return damaged(inode_text(inode), "its record has unknown flags");
  record.has_xattrs = (flags & kHasXattrsFlag) != 0;
  if ((flags & kHasQuotaFlag) != 0 && (!decode_u32(in, record.quota) || record.quota == kNoQuota))
    return damaged(inode_text(inode), "its quota is out of range");
  if (!decode_u32(in, attributes.mode) || !is_known_type(attributes.mode) ||
      (attributes.mode & ~(S_IFMT | kPermissionBits)) != 0)
    return damaged(inode_text(inode), "its mode is impossible");
  if (!decode_u32(in, attributes.uid) || !decode_u32(in, attributes.gid))
    return damaged(inode_text(inode), "its owner is out of range");
  if (!decode_u32(in, attributes.links) || attributes.links > kMaxLinks)
    return damaged(inode_text(inode), "its number of links is out of range");
  bool times_ok = decode_time(in, attributes.btime, 0);
  for (Timestamp* time : {&attributes.atime, &attributes.mtime, &attributes.ctime})
    times_ok = times_ok && decode_time(in, *time, attributes.btime.seconds);
  if (!times_ok) return damaged(inode_text(inode), "a time is out of range");
  if (const std::string_view reason = decode_type_specific(in, record); !reason.empty())
    return damaged(inode_text(inode), reason);
  if (!in.ok_at_end()) return damaged(inode_text(inode), "its record has the wrong length");
  return record;
}

std::string encode_dirent_key(InodeNumber parent, std::string_view name) {
  std::string key = encode_inode_key(parent);
  key += name;
  return key;
}

Result<DirentKey> decode_dirent_key(std::string_view key) {
  Decoder in(key);
  DirentKey decoded;
  decoded.parent = in.big_u64();
  decoded.name = text_of(in.bytes(in.remaining()));
  if (!in.ok() || decoded.parent == 0 || !is_valid_name(decoded.name))
    return damaged("key of a name in directory " + std::to_string(decoded.parent), "the name is not possible");
  return decoded;
}

std::string encode_dirent(const Dirent& dirent) {
  std::string value;
  Encoder out(value);
  encode_entry_head(out, dirent.inode, dirent.type);
  out.varint(dirent.cookie);
  return value;
}

Result<Dirent> decode_dirent(InodeNumber parent, std::string_view value) {
  Decoder in(value);
  Dirent dirent;
  const std::string what = "a name in directory " + std::to_string(parent);
  if (const std::string_view reason = decode_entry_head(in, parent, dirent.inode, dirent.type); !reason.empty())
    return damaged(what, reason);
  dirent.cookie = in.varint();
  if (!in.ok_at_end()) return damaged(what, "its record has the wrong length");
  if (dirent.cookie < kFirstCookie) return damaged(what, "its cookie is out of range");
  return dirent;
}

std::string encode_cookie_key(InodeNumber parent, std::uint64_t cookie) {
  std::string key = encode_inode_key(parent);
  Encoder(key).big_u64(cookie);
  return key;
}

Result<CookieKey> decode_cookie_key(std::string_view key) {
  Decoder in(key);
  CookieKey decoded;
  decoded.parent = in.big_u64();
  decoded.cookie = in.big_u64();
  if (!in.ok_at_end() || decoded.parent == 0 || decoded.cookie < kFirstCookie)
    return damaged("key of an entry of directory " + std::to_string(decoded.parent), "the cookie is not possible");
  return decoded;
}

std::string encode_cookie_entry(const CookieEntry& entry) {
  std::string value;
  Encoder out(value);
  encode_entry_head(out, entry.inode, entry.type);
  out.bytes(entry.name);
  return value;
}

Result<CookieEntry> decode_cookie_entry(InodeNumber parent, std::string_view value) {
  Decoder in(value);
  CookieEntry entry;
  const std::string what = "an entry of directory " + std::to_string(parent);
  if (const std::string_view reason = decode_entry_head(in, parent, entry.inode, entry.type); !reason.empty())
    return damaged(what, reason);
  entry.name = text_of(in.bytes(in.remaining()));
  if (!is_valid_name(entry.name)) return damaged(what, "the name is not possible");
  return entry;
}

std::string encode_xattr_key(InodeNumber inode, std::string_view name) {
  std::string key = encode_inode_key(inode);
  key += name;
  return key;
}

Result<XattrKey> decode_xattr_key(std::string_view key) {
  Decoder in(key);
  XattrKey decoded;
  decoded.inode = in.big_u64();
  decoded.name = text_of(in.bytes(in.remaining()));
  if (!in.ok() || decoded.inode == 0 || decoded.name.empty() || decoded.name.size() > kMaxXattrName ||
      decoded.name.find('\0') != std::string_view::npos)
    return damaged("key of an extended attribute of " + inode_text(decoded.inode), "the name is not possible");
  return decoded;
}

std::string encode_key_behind(InodeNumber inode) {
  return encode_inode_key(inode + 1);
}

std::string encode_counter(std::uint64_t value) {
  std::string encoded;
  Encoder out(encoded);
  out.u8(kRecordVersion);
  out.u64(value);
  return encoded;
}

Result<std::uint64_t> decode_counter(std::string_view name, std::string_view value) {
  Decoder in(value);
  const std::uint8_t version = in.u8();
  const std::uint64_t number = in.u64();
  if (!in.ok_at_end() || version != kRecordVersion)
    return damaged("counter " + std::string(name), "its record is of the wrong length or version");
  return number;
}

}  // namespace dedupfs
