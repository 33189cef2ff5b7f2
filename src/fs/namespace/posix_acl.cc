#include "fs/namespace/posix_acl.h"

#include <algorithm>

#include "base/coding.h"

namespace dedupfs {
namespace {

constexpr std::uint32_t kXattrVersion = 2;
constexpr std::size_t kEntryBytes = 8;
constexpr std::uint32_t kUndefinedId = 0xffffffff;

bool names_someone(PosixAcl::Tag tag) {
  return tag == PosixAcl::Tag::kUser || tag == PosixAcl::Tag::kGroup;
}

// posix_acl_valid(): owner, users, owning group, groups, mask (needed if there are users or groups), others; in this
// order.
bool is_well_formed(const std::vector<PosixAcl::Entry>& entries) {
  using Tag = PosixAcl::Tag;
  enum { kOwner, kUsers, kGroups, kOthers, kEnd } expected = kOwner;
  bool needs_mask = false;
  for (const PosixAcl::Entry& entry : entries) {
    if (entry.permissions > 7) return false;
    if (names_someone(entry.tag)) {
      if (entry.id == kUndefinedId) return false;
      needs_mask = true;
    }
    switch (entry.tag) {
      case Tag::kUserObject:
        if (expected != kOwner) return false;
        expected = kUsers;
        break;
      case Tag::kUser:
        if (expected != kUsers) return false;
        break;
      case Tag::kGroupObject:
        if (expected != kUsers) return false;
        expected = kGroups;
        break;
      case Tag::kGroup:
        if (expected != kGroups) return false;
        break;
      case Tag::kMask:
        if (expected != kGroups) return false;
        expected = kOthers;
        break;
      case Tag::kOther:
        if (expected != kOthers && (expected != kGroups || needs_mask)) return false;
        expected = kEnd;
        break;
      default: return false;
    }
  }
  return expected == kEnd;
}

}  // namespace

Result<PosixAcl> PosixAcl::decode(std::string_view value) {
  PosixAcl acl;
  if (value.empty()) return acl;
  Decoder in(value);
  const std::uint32_t version = in.u32();
  if (!in.ok()) return Error{ErrorCode::kInvalidArgument, "access control list is shorter than its header"};
  if (version != kXattrVersion) return Error{ErrorCode::kUnsupported, "access control list has an unknown version"};
  if (in.remaining() % kEntryBytes != 0)
    return Error{ErrorCode::kInvalidArgument, "access control list ends inside an entry"};
  while (in.remaining() != 0) {
    Entry entry;
    entry.tag = static_cast<Tag>(in.u16());
    entry.permissions = in.u16();
    entry.id = in.u32();
    if (!names_someone(entry.tag)) entry.id = 0;
    acl.entries_.push_back(entry);
  }
  if (!acl.empty() && !is_well_formed(acl.entries_))
    return Error{ErrorCode::kInvalidArgument, "access control list is not well formed"};
  return acl;
}

std::string PosixAcl::encode() const {
  std::string value;
  Encoder out(value);
  out.u32(kXattrVersion);
  for (const Entry& entry : entries_) {
    out.u16(static_cast<std::uint16_t>(entry.tag));
    out.u16(entry.permissions);
    out.u32(names_someone(entry.tag) ? entry.id : kUndefinedId);
  }
  return value;
}

bool PosixAcl::has_mask() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.tag == Tag::kMask; });
}

std::uint32_t PosixAcl::permissions() const {
  std::uint32_t mode = 0;
  const Tag group = has_mask() ? Tag::kMask : Tag::kGroupObject;  // the mask shows in place of the group's bits
  for (const Entry& entry : entries_) {
    if (entry.tag == Tag::kUserObject) mode |= std::uint32_t{entry.permissions} << 6;
    if (entry.tag == group) mode |= std::uint32_t{entry.permissions} << 3;
    if (entry.tag == Tag::kOther) mode |= entry.permissions;
  }
  return mode;
}

bool PosixAcl::extends_mode() const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const Entry& entry) { return names_someone(entry.tag) || entry.tag == Tag::kMask; });
}

void PosixAcl::restrict_to(std::uint32_t mode) {
  const Tag group = has_mask() ? Tag::kMask : Tag::kGroupObject;
  for (Entry& entry : entries_) {
    const auto keep = [&](std::uint32_t bits) {
      entry.permissions = static_cast<std::uint16_t>(entry.permissions & bits);
    };
    if (entry.tag == Tag::kUserObject) keep(mode >> 6 & 7);
    if (entry.tag == group) keep(mode >> 3 & 7);
    if (entry.tag == Tag::kOther) keep(mode & 7);
  }
}

void PosixAcl::set_permissions(std::uint32_t mode) {
  const Tag group = has_mask() ? Tag::kMask : Tag::kGroupObject;
  for (Entry& entry : entries_) {
    if (entry.tag == Tag::kUserObject) entry.permissions = static_cast<std::uint16_t>(mode >> 6 & 7);
    if (entry.tag == group) entry.permissions = static_cast<std::uint16_t>(mode >> 3 & 7);
    if (entry.tag == Tag::kOther) entry.permissions = static_cast<std::uint16_t>(mode & 7);
  }
}

}  // namespace dedupfs
