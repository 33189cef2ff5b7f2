// An entry of a directory, as readers of the directory get it.
#pragma once

#include <cstdint>
#include <string>

#include "fs/format/types.h"

namespace dedupfs {

struct DirectoryEntry {
  std::string name;
  std::uint64_t cookie = 0;  // pass it to read_directory() to go on behind this entry
  Attributes attributes;     // unless counted: inode and type bits of mode only
  bool counted = false;      // attributes are complete, and a reference was counted
};

}  // namespace dedupfs
