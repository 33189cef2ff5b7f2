// POSIX access control lists in the form that the kernel passes as extended attributes
// (include/uapi/linux/posix_acl_xattr.h, version 2), and their effects on modes. The functions follow fs/posix_acl.c of
// Linux: with FUSE_CAP_POSIX_ACL the kernel checks permissions by these lists. It leaves inheritance and the mode to the
// filesystem.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dedupfs {

inline constexpr std::string_view kAccessAclName = "system.posix_acl_access";
inline constexpr std::string_view kDefaultAclName = "system.posix_acl_default";

class PosixAcl {
 public:
  enum class Tag : std::uint16_t { kUserObject = 1, kUser = 2, kGroupObject = 4, kGroup = 8, kMask = 16, kOther = 32 };

  struct Entry {
    Tag tag{};
    std::uint16_t permissions = 0;  // rwx, as in a mode
    std::uint32_t id = 0;           // of kUser and kGroup

    bool operator==(const Entry&) const = default;
  };

  // kInvalidArgument: not well formed. A value without entries gives an empty list, which stands for "no list".
  static Result<PosixAcl> decode(std::string_view value);
  std::string encode() const;

  const std::vector<Entry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }

  // The nine permission bits that a stat of a file with this access list shows.
  std::uint32_t permissions() const;
  // Whether the list says more than those bits. If so, it must be kept.
  bool extends_mode() const;

  // Inheritance: restricts this default list to the permissions of `mode`, the requested mode of a new object. The result is
  // the access list of the object, and its permissions() are the permission bits of the object.
  void restrict_to(std::uint32_t mode);
  // chmod(2) on an object with this access list.
  void set_permissions(std::uint32_t mode);

 private:
  bool has_mask() const;

  std::vector<Entry> entries_;
};

}  // namespace dedupfs
