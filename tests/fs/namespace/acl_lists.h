// Access lists as the kernel passes them in extended attributes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fs/namespace/posix_acl.h"

namespace dedupfs {

inline std::string acl_of(std::vector<PosixAcl::Entry> entries) {
  std::string value("\2\0\0\0", 4);
  for (const PosixAcl::Entry& entry : entries) {
    for (const std::uint16_t half : {static_cast<std::uint16_t>(entry.tag), entry.permissions}) {
      value.push_back(static_cast<char>(half));
      value.push_back(static_cast<char>(half >> 8));
    }
    for (int shift = 0; shift < 32; shift += 8) value.push_back(static_cast<char>(entry.id >> shift));
  }
  return value;
}

inline const std::string kSharedAcl = acl_of({{PosixAcl::Tag::kUserObject, 7, UINT32_MAX},
                                              {PosixAcl::Tag::kUser, 6, 1001},
                                              {PosixAcl::Tag::kGroupObject, 5, UINT32_MAX},
                                              {PosixAcl::Tag::kMask, 7, UINT32_MAX},
                                              {PosixAcl::Tag::kOther, 0, UINT32_MAX}});
inline const std::string kPlainAcl = acl_of({{PosixAcl::Tag::kUserObject, 6, UINT32_MAX},
                                             {PosixAcl::Tag::kGroupObject, 4, UINT32_MAX},
                                             {PosixAcl::Tag::kOther, 4, UINT32_MAX}});

}  // namespace dedupfs
